"""Examples of the API reference: training, regularizers, the loss. Each begins with `# %% NAME` and runs by itself."""

# %% CaSpeR
from casper import ERACE, CaSpeR, Trainer, split_digits

casper = CaSpeR(weight=0.01, num_classes=4, num_neighbors=4)
trainer = Trainer(split_digits()[:2], ERACE(), regularizers=[casper], buffer_size=50, batch_size=32)
print(trainer.run()["class_il"]["final_average_accuracy"])

# %% ForwardOnly
from casper import ERACE, ForwardOnly, Trainer, split_digits

control = ForwardOnly(num_classes=4)  # the draw and the pass of CaSpeR, no loss
trainer = Trainer(split_digits()[:2], ERACE(), regularizers=[control], buffer_size=50, batch_size=32)
print(trainer.run()["class_il"]["final_average_accuracy"])

# %% CSCCT
from casper import CSCCT, ERACE, Trainer, split_digits

competitor = CSCCT(clustering_weight=3.0, transfer_weight=1.5, temperature=2.0)
trainer = Trainer(split_digits()[:2], ERACE(), regularizers=[competitor], buffer_size=50, batch_size=32)
print(trainer.run()["class_il"]["final_average_accuracy"])

# %% Regularizer
from casper import ERACE, Regularizer, Trainer, split_digits


class SmallFeatures(Regularizer):
    name = generator_name = "small-features"
    needs_memory = False

    def __init__(self, weight=0.01):
        self.weight = weight

    def loss(self, step, passes, generator):
        return passes["stream"].features.square().mean() if passes else None


Trainer(split_digits()[:2], ERACE(), regularizers=[SmallFeatures()], buffer_size=50).run()

# %% Trainer
from casper import ERACE, Trainer, split_digits

trainer = Trainer(
    split_digits()[:2],
    ERACE(),
    buffer_size=50,
    epochs=2,
    batch_size=32,
    lr=0.1,
    seed=1,
    recalibrate=True,
)
metrics = trainer.run()
print(metrics["class_il"]["accuracy_matrix"], metrics["recalibrated"]["class_il"]["final_average_accuracy"])

# %% Step
from casper import ERACE, Regularizer, Step, Trainer, split_digits


class Count(Regularizer):
    name = generator_name = "count"
    weight = 1.0

    def loss(self, step: Step, passes, generator):
        if step.progress.step == 1:
            replayed = sum(len(batch) for batch in step.replays)
            print(step.task.index, len(step.stream), replayed, len(step.memory))
        return None  # no term


Trainer(split_digits()[:2], ERACE(), regularizers=[Count()], buffer_size=50).run()

# %% Progress
from casper import Progress

progress = Progress(epoch=0, epochs=5, step=12)  # the 13th update of a task, in its first epoch of five
print(progress.epoch + 1, "of", progress.epochs)

# %% ParameterError
from casper import ERACE, ParameterError, Trainer, split_digits

try:
    Trainer(split_digits(), ERACE(), buffer_size=50, epochs=0)
except ParameterError as error:
    print(error.parameter, "|", error.requirement, "|", error.found)

# %% spectral_gap_loss
import torch
from casper import spectral_gap_loss

features = torch.randn(32, 128, requires_grad=True)  # 32 replayed images of 8 classes
loss = spectral_gap_loss(features, num_communities=8, num_neighbors=3)
loss.backward()
print(loss.item(), features.grad.norm().item())
