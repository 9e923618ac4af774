"""The shared types: sets of labelled images, tasks, batches, and the outputs of a forward pass."""

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
    """A set of labelled images: one tensor of images and one of labels.

    Attributes:
        images: Tensor of shape (n, c, h, w), uint8; feature vectors have shape (n, views, d), float16.
        labels: Tensor of shape (n,), int64; -1 marks a hidden label.

    Example:
        >>> import torch
        >>> from casper import ImageSet
        >>> data = ImageSet(torch.zeros(3, 1, 8, 8, dtype=torch.uint8), torch.tensor([0, 1, 1]))
        >>> len(data[data.labels == 1])
        2
    """

    images: Tensor
    labels: Tensor

    def __post_init__(self) -> None:
        if len(self.images) != len(self.labels):
            raise ParameterError("labels", f"one per image, {len(self.images)} in total", f"{len(self.labels)}")

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Tensor) -> "ImageSet":
        """Copy rows, selected by number or by a boolean mask."""
        numbers = rows.nonzero().squeeze(1) if rows.dtype == torch.bool else rows
        # Ten times as fast as indexing, because it copies whole images.
        return ImageSet(self.images.index_select(0, numbers), self.labels.index_select(0, numbers))

    def checksum(self) -> str:
        """Compute a checksum of images and labels."""
        import xxhash

        digest = xxhash.xxh3_128(str((self.images.shape, self.images.dtype)).encode())
        for part in (self.images, self.labels):
            digest.update(part.cpu().contiguous().numpy().data)
        return digest.hexdigest()

    def to(self, device: str) -> "ImageSet":
        """Copy to a device; no copy if the images are already there."""
        return ImageSet(self.images.to(device), self.labels.to(device))


@dataclass(frozen=True, repr=False)
class Task(ShowsSettings):
    """One task of a stream: training images (`train`) and test images (`test`).

    The images are created on first access, so that testing alone does not load the training images.

    Attributes:
        make_train: Creates the training images.
        make_test: Creates the test images.
        classes: The labels of the task, which are also its columns of the logits.
        index: The position in the stream, from 0.
        num_tasks: The length of the stream.
        past: The classes of each earlier task of the stream, in order.

    Example:
        >>> from casper import split_digits
        >>> task = split_digits()[1]
        >>> task.classes, task.past, len(task.train), len(task.test)
        ((2, 3), ((0, 1),), 240, 120)
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
        """Return the index of the task that introduced each class, or `num_tasks` for classes not seen yet.

        `owners < index` marks the past, `owners == index` the present and `owners > index` the future columns.

        Returns:
            Tensor of shape (num_classes,), int64; it is shared, do not modify it.
        """
        return _owners((*self.past, self.classes), self.num_tasks, num_classes, device)

    @cached_property
    def train(self) -> ImageSet:
        """The training images."""
        return self.make_train()

    @cached_property
    def test(self) -> ImageSet:
        """The test images."""
        return self.make_test()

    def to(self, device: str) -> "Task":
        """Return the task with its images on a device; no copy if they are already there."""
        return replace(self, make_train=lambda: self.train.to(device), make_test=lambda: self.test.to(device))


@lru_cache(maxsize=16)
def _owners(
    classes_of_tasks: tuple[tuple[int, ...], ...], num_tasks: int, num_classes: int, device: torch.device
) -> Tensor:
    owners = [num_tasks] * num_classes
    for index, classes in enumerate(classes_of_tasks):
        for label in classes:
            owners[label] = index
    with torch.inference_mode(False):  # cached: usable outside inference mode too
        return torch.tensor(owners, device=device)


@dataclass(frozen=True, repr=False)
class Outputs(ShowsSettings):
    """The outputs of one forward pass `net(x)`.

    Attributes:
        features: Tensor of shape (n, d): pooled, after the last ReLU, at least float32.
        logits: Tensor of shape (n, N), or another output of a method's head, at least float32.
        maps: The stages' outputs before their last ReLU, each of shape (n, c, h, w); empty if there are none.

    Example:
        >>> import torch
        >>> from casper import MLP, FeatureClassifier
        >>> backbone = MLP((1, 8, 8))
        >>> net = FeatureClassifier(backbone, torch.nn.Linear(backbone.dim, 10))
        >>> net(torch.zeros(4, 1, 8, 8)).logits.shape
        torch.Size([4, 10])
    """

    features: Tensor
    logits: Tensor
    maps: tuple[Tensor, ...] = ()


@dataclass(frozen=True, repr=False)
class Batch(ShowsSettings):
    """The items of one training step.

    Attributes:
        images: Tensor of shape (n, c, h, w), uint8, as stored.
        labels: Tensor of shape (n,), int64; -1 marks a hidden label.
        inputs: Tensor of shape (n, c, h, w): the network's input, one view of the images.
        rows: Their rows in the memory, shape (n,); None for items of the stream.
        columns: Additional columns of the memory by name, one row per item.

    Example:
        >>> import torch
        >>> from casper import Batch
        >>> images = torch.zeros(4, 1, 8, 8, dtype=torch.uint8)
        >>> batch = Batch(images, torch.tensor([0, 1, -1, 1]), inputs=images / 255)
        >>> batch[batch.labels >= 0].labels
        tensor([0, 1, 1])
    """

    images: Tensor
    labels: Tensor
    inputs: Tensor
    rows: Tensor | None = None
    columns: Mapping[str, Tensor] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Tensor) -> "Batch":
        """Select items by number or by a boolean mask."""
        numbers = rows.nonzero().squeeze(1) if rows.dtype == torch.bool else rows
        columns = {name: column[numbers] for name, column in self.columns.items()}
        chosen = None if self.rows is None else self.rows[numbers]
        images, inputs = (each.index_select(0, numbers) for each in (self.images, self.inputs))
        return Batch(images, self.labels[numbers], inputs, chosen, columns)
