"""Examples of the API reference: methods. Each begins with `# %% NAME` and runs by itself."""

# %% ER
from casper import ER, Trainer, split_digits

trainer = Trainer(split_digits()[:2], ER(), buffer_size=50, batch_size=32)
print(trainer.run()["class_il"]["final_average_accuracy"])

# %% ERACE
from casper import ERACE, Trainer, split_digits

trainer = Trainer(split_digits()[:2], ERACE(), buffer_size=50, batch_size=32)
print(trainer.run()["class_il"]["final_average_accuracy"])

# %% DERpp
from casper import DERpp, Trainer, split_digits

trainer = Trainer(split_digits()[:2], DERpp(alpha=0.3, beta=0.8), buffer_size=50, batch_size=32)
print(trainer.run()["class_il"]["final_average_accuracy"])

# %% ICaRL
from casper import ICaRL, Trainer, split_digits

trainer = Trainer(split_digits()[:2], ICaRL(weight_decay=1e-5), buffer_size=50, batch_size=32)
print(trainer.run()["class_il"]["final_average_accuracy"])

# %% XDER
from casper import XDER, Trainer, split_digits

trainer = Trainer(split_digits()[:2], XDER(alpha=0.3, beta=0.8), buffer_size=50, batch_size=32)
print(trainer.run()["class_il"]["final_average_accuracy"])

# %% PODNet
from casper import PODNet, Trainer, split_digits

trainer = Trainer(split_digits()[:2], PODNet(spatial_weight=0.05, flat_weight=0.01), buffer_size=50, batch_size=32)
print(trainer.run()["class_il"]["final_average_accuracy"])

# %% SCR
from casper import SCR, Trainer, split_digits

trainer = Trainer(split_digits()[:2], SCR(temperature=0.07), buffer_size=50, batch_size=32)
print(trainer.run()["class_il"]["final_average_accuracy"])

# %% CCIC
from casper import CCIC, Trainer, split_digits

trainer = Trainer(split_digits()[:2], CCIC(alpha=0.5), buffer_size=50, batch_size=32, lr=0.001)
print(trainer.run()["class_il"]["final_average_accuracy"])

# %% PsERACE
from casper import PsERACE, Trainer, hide_labels, split_digits

stream = hide_labels(split_digits()[:2], fraction=0.2)
trainer = Trainer(stream, PsERACE(threshold=5.5), buffer_size=50, batch_size=32)
print(trainer.run()["class_il"]["final_average_accuracy"])

# %% Finetune
from casper import Finetune, Trainer, split_digits

trainer = Trainer(split_digits()[:2], Finetune(), batch_size=32)  # no memory
print(trainer.run()["class_il"]["final_average_accuracy"])

# %% Joint
from casper import Joint, Trainer, split_digits

trainer = Trainer(split_digits()[:2], Joint(), batch_size=32)  # no memory
print(trainer.run()["class_il"]["final_average_accuracy"])

# %% Method
import torch.nn.functional as F
from casper import Method, Trainer, split_digits


class LabelSmoothing(Method):
    keeps_memory = False

    def losses(self, step, passes):
        logits = passes["stream"].logits
        return {"stream": F.cross_entropy(logits, step.stream.labels, label_smoothing=0.1)}


print(Trainer(split_digits()[:2], LabelSmoothing()).run()["class_il"]["forgetting"])

# %% Phase
from casper import Finetune, Phase, Trainer, split_digits


class Backwards(Finetune):
    def phases(self, stream):  # the last task first; rows of the accuracy matrix stay in order
        last = len(stream) - 1
        return [Phase(row, lambda row=row: stream[last - row]) for row in range(len(stream))]


print(Trainer(split_digits()[:2], Backwards()).run()["class_il"]["accuracy_matrix"])
