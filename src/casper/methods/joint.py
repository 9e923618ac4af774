"""Joint: the upper bound."""

from collections.abc import Sequence

import torch

from casper.methods.base import Phase
from casper.methods.finetune import Finetune
from casper.streams import TaskStream
from casper.types import ImageSet, Task


class Joint(Finetune):
    """Train once on the union of all tasks, with the epochs of one task; tested once, at the end."""

    def phases(self, stream: TaskStream) -> Sequence[Phase]:
        """Plan one phase."""
        return [Phase(len(stream) - 1, lambda: union(stream))]


def union(stream: TaskStream) -> Task:
    """Join all tasks of a stream into one, in the place of the last."""
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
