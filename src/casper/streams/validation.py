"""A validation set from the training images, for choices that must not see the test set."""

from dataclasses import replace

import torch
from torch import Tensor

from casper.errors import ParameterError, require
from casper.randomness import named_generator
from casper.streams.stream import TaskStream
from casper.types import ImageSet, Task


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
