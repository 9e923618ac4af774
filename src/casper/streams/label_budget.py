"""Few labels: hide the others."""

from dataclasses import replace

import torch
from torch import Tensor

from casper.errors import ParameterError, require
from casper.randomness import named_generator
from casper.streams.stream import TaskStream
from casper.types import ImageSet, Task

HIDDEN = -1


def hide_labels(
    stream: TaskStream, *, fraction: float | None = None, per_class: int | None = None, seed: int = 0
) -> TaskStream:
    """Keep the labels of a few training images of every class; the others become -1.

    Which ones depends on the seed and on the label, the number of the class in the order of the stream. Images, their
    order and the test sets stay as they are.

    Args:
        stream: A class-incremental stream; unchanged.
        fraction: The part of each class's labels that is kept, in (0, 1): round(fraction * n) of n, at least one.
        per_class: How many of them are kept, if the class has as many; give this or the fraction.
        seed: Determines which ones.

    Returns:
        A stream like it, whose tasks have hidden labels.
    """
    both = f"labels={fraction}, labels_per_class={per_class}"
    require((fraction is None) != (per_class is None), "labels", "given as a fraction or per class, one of them", both)
    require(fraction is None or 0 < fraction < 1, "labels", "between 0 and 1, and neither", fraction)
    require(per_class is None or per_class >= 1, "labels_per_class", "at least 1", per_class)
    if stream.scenario != "class":
        found = f"a {stream.scenario}-incremental stream"
        raise ParameterError("labels" if per_class is None else "labels_per_class", "used with a class stream", found)

    def budget(size: int) -> int:
        return max(1, round(fraction * size)) if fraction is not None else min(per_class or 1, size)

    def hidden(task: Task) -> Task:
        def make() -> ImageSet:
            kept = torch.zeros_like(task.train.labels, dtype=torch.bool)
            for label in task.classes:
                rows = (task.train.labels == label).nonzero().squeeze(1)
                kept[_chosen(rows, budget(len(rows)), seed, label)] = True
            return ImageSet(task.train.images, task.train.labels.masked_fill(~kept, HIDDEN))

        return replace(task, make_train=make)

    return replace(stream, make_task=lambda number: hidden(stream.make_task(number)), hides_labels=True)


def _chosen(rows: Tensor, count: int, seed: int, label: int) -> Tensor:
    order = torch.randperm(len(rows), generator=named_generator(seed, f"labels/{label}"))
    return rows[order[:count].to(rows.device)]
