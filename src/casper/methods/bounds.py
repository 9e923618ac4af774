"""The lower bound (Finetune) and the upper bound (Joint) that methods are compared with."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from casper.methods.base import Method, Phase
from casper.step import Step
from casper.streams import TaskStream
from casper.types import ImageSet, Outputs, Task


class Finetune(Method):
    """Train on each task in turn without any measure against forgetting: cross-entropy over all classes, no memory.

    Example:
        >>> from casper import MLP, Finetune, Trainer, split_digits
        >>> trainer = Trainer(split_digits(), Finetune(), backbone=MLP, epochs=5)
        >>> trainer.run()["class_il"]["forgetting"] > 50
        True
    """

    keeps_memory: ClassVar[bool] = False

    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the cross-entropy of the stream batch."""
        return {"stream": F.cross_entropy(passes["stream"].logits, step.stream.labels)}


class Joint(Finetune):
    """Train once on the union of all tasks, with the epochs of one task; the only evaluation is at the end.

    Example:
        >>> from casper import MLP, Joint, Trainer, split_digits
        >>> trainer = Trainer(split_digits(), Joint(), backbone=MLP, epochs=5)
        >>> trainer.run()["class_il"]["final_average_accuracy"] > 50
        True
    """

    def phases(self, stream: TaskStream) -> Sequence[Phase]:
        """Return a single phase."""
        return [Phase(len(stream) - 1, lambda: union(stream))]


def union(stream: TaskStream) -> Task:
    """Join all tasks of a stream into one task, which has the index of the last."""
    tasks = list(stream)
    classes = tuple(sorted({label for task in tasks for label in task.classes}))
    return Task(
        lambda: _joined([task.train for task in tasks]),
        lambda: _joined([task.test for task in tasks]),
        classes,
        tasks[-1].index,
        tasks[-1].num_tasks,
    )


def _joined(parts: Sequence[ImageSet]) -> ImageSet:
    return ImageSet(torch.cat([part.images for part in parts]), torch.cat([part.labels for part in parts]))
