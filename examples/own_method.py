"""A new rehearsal method and a new regularizer, used together with CaSpeR.

In this folder: casper run --method own_method:WeightedReplay --regularizer own_method:SmallFeatures
"""

import argparse
from collections.abc import Mapping
from typing import ClassVar

import torch.nn.functional as F
from torch import Generator, Tensor

from casper import Batch, CaSpeR, Method, Outputs, Progress, Regularizer, Step, Task, Trainer, split_digits
from casper.memory import balanced_reservoir


class WeightedReplay(Method):
    """Experience replay whose replay loss has a weight."""

    def __init__(self, *, replay_weight: float = 0.5) -> None:
        self.replay_weight = replay_weight

    def draw(self, batch: Batch, task: Task, progress: Progress) -> Step:
        """Draw a replay batch unless the memory is empty. `forward` then computes the passes stream and replay."""
        return self.make_step(batch, task, progress, (self.replay_batch(),) if len(self.memory) else ())

    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Return the loss terms by name. Their sum is minimised, and the log has each."""
        terms = {"stream": F.cross_entropy(passes["stream"].logits, step.stream.labels)}
        for replay in step.replays:
            terms["replay"] = self.replay_weight * F.cross_entropy(passes["replay"].logits, replay.labels)
        return terms

    def remember(self, step: Step, passes: Mapping[str, Outputs]) -> None:
        """Offer the stream's images to the memory, after the update."""
        stream, generator = step.stream, self.generators["memory"]
        self.memory.insert(stream.images, stream.labels, policy=balanced_reservoir, generator=generator)


class SmallFeatures(Regularizer):
    """Keep the features of the stream small: the loss is the mean of their squares."""

    name: ClassVar[str] = "small-features"
    generator_name: ClassVar[str] = "small-features"

    def __init__(self, weight: float = 0.01) -> None:
        self.weight = weight

    def loss(self, step: Step, passes: Mapping[str, Outputs], generator: Generator) -> Tensor | None:
        """Return the loss without its weight, or None for no term in this step. Draw only from `generator`."""
        return passes["stream"].features.square().mean() if "stream" in passes else None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A new method with a new regularizer and with CaSpeR.")
    parser.add_argument("--epochs", type=int, default=3, help="passes over each task")
    regularizers = [SmallFeatures(), CaSpeR(weight=0.01, num_classes=4, num_neighbors=4)]
    method, epochs = WeightedReplay(replay_weight=1.0), parser.parse_args().epochs
    trainer = Trainer(split_digits(), method, regularizers=regularizers, buffer_size=50, epochs=epochs, batch_size=32)
    print(f"final average accuracy: {trainer.run()['class_il']['final_average_accuracy']:.2f} %")
