"""Parts of a stream: hidden labels, a validation split, fewer images."""

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


def hold_out(stream: TaskStream, validation: float) -> TaskStream:
    """Put a part of every task's training images in the place of its test images.

    The test images are never made. Every class gives round(validation * n) of its n images, at least one. Which ones
    depends on the class's images alone: they are the same for every seed and every order of classes, so that runs are
    compared on the same images; and an image that a domain stream shows in many ways is held out in all of them.

    Args:
        stream: The stream; unchanged.
        validation: The part of the training images that is held out, in (0, 1).

    Returns:
        A stream like it, of fewer training images.
    """
    require(0 < validation < 1, "validation", "between 0 and 1, and neither", validation)
    return replace(stream, make_task=lambda number: _divided(stream.make_task(number), validation))


def _divided(task: Task, validation: float) -> Task:
    def part(held_out: bool) -> ImageSet:
        return task.train[held_out_rows(task.train.labels, validation) == held_out]

    return replace(task, make_train=lambda: part(False), make_test=lambda: part(True))


def held_out_rows(labels: Tensor, validation: float) -> Tensor:
    """Mark the rows that are held out: of every class the same places among its rows.

    Args:
        labels: Tensor of shape (n,).
        validation: See `hold_out`.

    Returns:
        Tensor of shape (n,), bool.
    """
    marks = torch.zeros_like(labels, dtype=torch.bool)
    for label in labels.unique():
        rows = (labels == label).nonzero().squeeze(1)
        count = max(1, round(validation * len(rows)))
        if count >= len(rows):
            raise ParameterError(
                "validation", f"small enough to leave images of class {label} to train on", str(validation)
            )
        order = torch.randperm(len(rows), generator=named_generator(0, "validation"))
        marks[rows[order[:count].to(rows.device)]] = True
    return marks


def shortened(stream: TaskStream, *, train: int, test: int) -> TaskStream:
    """Keep so many images of every task, or all where there are fewer: a random choice, the same one every time."""

    def make(number: int) -> Task:
        task = stream.make_task(number)
        return replace(task, make_train=lambda: _some(task.train, train), make_test=lambda: _some(task.test, test))

    return replace(stream, make_task=make)


def _some(images: ImageSet, size: int) -> ImageSet:
    return images[torch.randperm(len(images), generator=torch.Generator().manual_seed(0))[:size]]
