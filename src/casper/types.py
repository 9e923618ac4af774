"""The vocabulary: labelled images, tasks, batches, and what one forward pass gives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal

import torch
from torch import Tensor

from casper._deprecated import renamed_attribute
from casper._repr import ShowsSettings
from casper.errors import ParameterError

Scenario = Literal["class", "domain"]


@dataclass(frozen=True, repr=False)
class ImageSet(ShowsSettings):
    """A set of labelled images, as stored: one tensor each.

    Attributes:
        images: Tensor of shape (n, c, h, w), uint8.
        labels: Tensor of shape (n,), int64; -1: hidden.
    """

    images: Tensor
    labels: Tensor

    def __post_init__(self) -> None:
        if len(self.images) != len(self.labels):
            raise ParameterError("labels", f"one per image, {len(self.images)} in all", f"{len(self.labels)}")

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Tensor) -> "ImageSet":
        """Copy out rows, by number or by a mask."""
        numbers = rows.nonzero().squeeze(1) if rows.dtype == torch.bool else rows
        # Ten times as fast as indexing: it copies whole images.
        return ImageSet(self.images.index_select(0, numbers), self.labels.index_select(0, numbers))

    def checksum(self) -> str:
        """Tell these images and labels from any others."""
        import xxhash

        digest = xxhash.xxh3_128(str((self.images.shape, self.images.dtype)).encode())
        for part in (self.images, self.labels):
            digest.update(part.cpu().contiguous().numpy().data)
        return digest.hexdigest()

    def to(self, device: str) -> "ImageSet":
        """Copy to a device; nothing happens where the images are there already."""
        return ImageSet(self.images.to(device), self.labels.to(device))


@dataclass(frozen=True, repr=False)
class Task(ShowsSettings):
    """One stop of a stream: what to learn (`train`), what to be tested on (`test`).

    The images are made when they are first asked for: who only tests does not wait for the training images.

    Attributes:
        make_train: Makes the images to learn from.
        make_test: Makes the images that measure it.
        classes: The labels that occur, which are also the columns of the logits this task owns.
        index: Its place in the stream, from 0.
        num_tasks: The length of the stream.
        past: The classes of each earlier task of the stream, in order.
    """

    make_train: Callable[[], ImageSet]
    make_test: Callable[[], ImageSet]
    classes: tuple[int, ...]
    index: int = 0
    num_tasks: int = 1
    past: tuple[tuple[int, ...], ...] = ()

    @property
    def num_seen(self) -> int:
        """The number of classes of this task and the earlier ones."""
        return sum(map(len, self.past)) + len(self.classes)

    num_met = renamed_attribute("num_met", "num_seen")

    def owners(self, num_classes: int, device: torch.device) -> Tensor:
        """Number, for each column of the logits, the task that brought its class; `num_tasks`: none has so far.

        So `owners < index` marks the past, `owners == index` the present and `owners > index` the future.

        Returns:
            Tensor of shape (num_classes,), int64; not to be written to.
        """
        return _owners((*self.past, self.classes), self.num_tasks, num_classes, device)

    @cached_property
    def train(self) -> ImageSet:
        """The images to learn from."""
        return self.make_train()

    @cached_property
    def test(self) -> ImageSet:
        """The images that measure it."""
        return self.make_test()

    def to(self, device: str) -> "Task":
        """Have the images on a device; nothing is copied where they are there already."""
        return replace(self, make_train=lambda: self.train.to(device), make_test=lambda: self.test.to(device))


@lru_cache(maxsize=16)
def _owners(
    classes_of_tasks: tuple[tuple[int, ...], ...], num_tasks: int, num_classes: int, device: torch.device
) -> Tensor:
    owners = [num_tasks] * num_classes
    for index, classes in enumerate(classes_of_tasks):
        for label in classes:
            owners[label] = index
    with torch.inference_mode(False):  # whoever asks first, everyone may use it
        return torch.tensor(owners, device=device)


@dataclass(frozen=True, repr=False)
class Outputs(ShowsSettings):
    """What one forward pass gives. `net(x)` is the only way to make one.

    Attributes:
        features: Tensor of shape (n, d): pooled, after the last ReLU, always at least float32.
        logits: Tensor of shape (n, N), or what else a method's head gives, at least float32.
        maps: The stages' outputs before their last ReLU, each of shape (n, c, h, w); empty where there are none.
    """

    features: Tensor
    logits: Tensor
    maps: tuple[Tensor, ...] = ()


@dataclass(frozen=True, repr=False)
class Batch(ShowsSettings):
    """Some items on their way through one step.

    Attributes:
        images: Tensor of shape (n, c, h, w), uint8, as stored.
        labels: Tensor of shape (n,), int64; -1: hidden.
        inputs: Tensor of shape (n, c, h, w), what the net sees: one view of the images.
        rows: Their rows in the memory, shape (n,); None: they come from the stream.
        columns: What else the memory keeps of them, by name, one row per item.
    """

    images: Tensor
    labels: Tensor
    inputs: Tensor
    rows: Tensor | None = None
    columns: Mapping[str, Tensor] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Tensor) -> "Batch":
        """Choose items, by number or by a mask."""
        numbers = rows.nonzero().squeeze(1) if rows.dtype == torch.bool else rows
        columns = {name: column[numbers] for name, column in self.columns.items()}
        chosen = None if self.rows is None else self.rows[numbers]
        images, inputs = (each.index_select(0, numbers) for each in (self.images, self.inputs))
        return Batch(images, self.labels[numbers], inputs, chosen, columns)
