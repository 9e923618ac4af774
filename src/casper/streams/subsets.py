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
    """Hide most training labels of every class: all but a few become -1.

    The choice depends on the seed and on the label, which is the number of the class in the order of the stream.
    Images, their order and the test sets do not change.

    Args:
        stream: A class-incremental stream; it is not modified.
        fraction: The share of each class's labels that stays visible, in (0, 1): round(fraction * n) of n, at least 1.
        per_class: The number of visible labels per class, at most all. Give either this or the fraction.
        seed: The seed of the choice.

    Returns:
        A copy of the stream whose tasks have hidden labels.

    Example:
        >>> from casper import hide_labels, split_digits
        >>> stream = hide_labels(split_digits(), per_class=10)
        >>> labels = stream[0].train.labels
        >>> len(labels), int((labels >= 0).sum())
        (241, 20)
    """
    both = f"labels={fraction}, labels_per_class={per_class}"
    require((fraction is None) != (per_class is None), "labels", "given either as a fraction or per class", both)
    require(fraction is None or 0 < fraction < 1, "labels", "in (0, 1)", fraction)
    require(per_class is None or per_class >= 1, "labels_per_class", "at least 1", per_class)
    if stream.scenario != "class":
        found = f"a {stream.scenario}-incremental stream"
        raise ParameterError("labels" if per_class is None else "labels_per_class", "used with a class stream", found)

    def budget(size: int) -> int:
        return max(1, round(fraction * size)) if fraction is not None else min(per_class or 1, size)

    def hidden(task: Task) -> Task:
        def make() -> ImageSet:
            visible = torch.zeros_like(task.train.labels, dtype=torch.bool)
            for label in task.classes:
                rows = (task.train.labels == label).nonzero().squeeze(1)
                visible[_chosen(rows, budget(len(rows)), seed, label)] = True
            return ImageSet(task.train.images, task.train.labels.masked_fill(~visible, HIDDEN))

        return replace(task, make_train=make)

    return replace(stream, make_task=lambda number: hidden(stream.make_task(number)), hides_labels=True)


def _chosen(rows: Tensor, count: int, seed: int, label: int) -> Tensor:
    order = torch.randperm(len(rows), generator=named_generator(seed, f"labels/{label}"))
    return rows[order[:count].to(rows.device)]


def hold_out(stream: TaskStream, validation: float) -> TaskStream:
    """Replace the test images of every task by a validation split of its training images.

    The test images are never loaded. Of the n images of a class, round(validation * n) are held out, at least one. The
    choice depends only on the number of images of the class: it is the same for every seed and every order of classes,
    so that runs are compared on the same images. An image of a domain stream is held out in all tasks.

    Args:
        stream: The stream; it is not modified.
        validation: The share of the training images that is held out, in (0, 1).

    Returns:
        A copy of the stream with fewer training images.

    Example:
        >>> from casper import hold_out, split_digits
        >>> task = hold_out(split_digits(), 0.1)[0]
        >>> len(task.train), len(task.test)
        (217, 24)
    """
    require(0 < validation < 1, "validation", "in (0, 1)", validation)
    return replace(stream, make_task=lambda number: _divided(stream.make_task(number), validation))


def _divided(task: Task, validation: float) -> Task:
    def part(held_out: bool) -> ImageSet:
        return task.train[held_out_rows(task.train.labels, validation) == held_out]

    return replace(task, make_train=lambda: part(False), make_test=lambda: part(True))


def held_out_rows(labels: Tensor, validation: float) -> Tensor:
    """Mark the held-out rows; the choice within a class depends only on its number of rows.

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
    """Reduce every task to at most the given numbers of images, chosen at random with a fixed seed.

    Args:
        stream: The stream; it is not modified.
        train: The number of training images of each task.
        test: The number of test images of each task.

    Example:
        >>> from casper import shortened, split_digits
        >>> task = shortened(split_digits(), train=50, test=20)[0]
        >>> len(task.train), len(task.test)
        (50, 20)
    """

    def make(number: int) -> Task:
        task = stream.make_task(number)
        return replace(task, make_train=lambda: _some(task.train, train), make_test=lambda: _some(task.test, test))

    return replace(stream, make_task=make)


def _some(images: ImageSet, size: int) -> ImageSet:
    return images[torch.randperm(len(images), generator=torch.Generator().manual_seed(0))[:size]]
