"""The stream: a sequence of tasks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

import torch

from casper._repr import ShowsSettings
from casper.streams.transform import Transform
from casper.types import Scenario, Task


@dataclass(frozen=True, repr=False)
class TaskStream(ShowsSettings, Sequence[Task]):
    """A sequence of tasks: `len(stream)`, `for task in stream`, `stream[2]`, `stream[:3]`.

    A task is created on access and not cached, so that a stream of many large tasks needs the memory of one.

    Attributes:
        make_task: Creates the task of a given number, the same one every time.
        indices: The numbers of the tasks in this stream. A slice has fewer; `Task.index` counts them from 0.
        scenario: `"class"`: every task has new classes. `"domain"`: the same classes with different inputs.
        num_classes: The number of classes of the whole stream, which is the width of the logits.
        image_shape: The shape (c, h, w) of an image; (d,) for feature vectors, see `embed`.
        transform: Converts images to network inputs.
        class_names: The name of each label, in label order.
        about: A description of the images and their origin, in one line; may be empty.
        hides_labels: Whether some training labels are -1; see `hide_labels`.
        views: The number of feature vectors stored for each image; None for a stream of images.
        weights: The checksum of the weights that computed feature vectors; empty for a stream of images.

    Example:
        >>> from casper import split_digits
        >>> stream = split_digits()
        >>> len(stream), len(stream[:3]), stream[-1].classes
        (5, 3, (8, 9))
    """

    make_task: Callable[[int], Task]
    indices: range
    scenario: Scenario
    num_classes: int
    image_shape: tuple[int, ...]
    transform: Transform
    class_names: tuple[str, ...]
    about: str = ""
    hides_labels: bool = False
    views: int | None = None
    weights: str = ""
    _classes_of: dict[int, tuple[int, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def item_shape(self) -> tuple[int, ...]:
        """The shape in which an item is stored: of an image, or (views, d) of its feature vectors."""
        return self.image_shape if self.views is None else (self.views, *self.image_shape)

    @property
    def item_type(self) -> torch.dtype:
        """The type of a stored item: uint8 for images, float16 for feature vectors."""
        return torch.uint8 if self.views is None else torch.float16

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[Task]:
        return (self[place] for place in range(len(self)))

    @overload
    def __getitem__(self, place: int) -> Task: ...

    @overload
    def __getitem__(self, place: slice) -> "TaskStream": ...

    def __getitem__(self, place: int | slice) -> "Task | TaskStream":
        if isinstance(place, slice):
            return replace(self, indices=self.indices[place])
        index = range(len(self))[place]
        past = tuple(self._classes(earlier) for earlier in self.indices[:index])
        return replace(self._make(self.indices[index]), index=index, num_tasks=len(self), past=past)

    def checksums(self) -> list[str]:
        """Compute checksums of the training images of the first task and of all test sets."""
        return [self[0].train.checksum(), *(task.test.checksum() for task in self)]

    def _make(self, number: int) -> Task:
        task = self.make_task(number)
        self._classes_of[number] = task.classes
        return task

    def _classes(self, number: int) -> tuple[int, ...]:
        return self._classes_of.get(number) or self._make(number).classes
