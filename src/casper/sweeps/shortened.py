"""A stream with fewer images, for what takes a few steps only."""

from dataclasses import replace

import torch

from casper.streams import TaskStream
from casper.types import ImageSet, Task


def shortened(stream: TaskStream, *, train: int, test: int) -> TaskStream:
    """Keep so many images of every task, or all where there are fewer: a random choice, the same one every time."""

    def make(number: int) -> Task:
        task = stream.make_task(number)
        return replace(task, make_train=lambda: _some(task.train, train), make_test=lambda: _some(task.test, test))

    return replace(stream, make_task=make)


def _some(images: ImageSet, size: int) -> ImageSet:
    return images[torch.randperm(len(images), generator=torch.Generator().manual_seed(0))[:size]]
