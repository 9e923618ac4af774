"""A ring buffer of the most recent items."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Generator, Tensor

from casper._repr import ShowsSettings
from casper.errors import require
from casper.types import ImageSet


class Ring(ShowsSettings):
    """Stores images (uint8) and labels of the last `capacity` items; the newest overwrites the oldest.

    Example:
        >>> import torch
        >>> from casper.memory import Ring
        >>> ring = Ring(3, (1, 8, 8))
        >>> ring.insert(torch.zeros(4, 1, 8, 8, dtype=torch.uint8), torch.arange(4))
        >>> ring.labels
        tensor([3, 1, 2])
    """

    def __init__(self, capacity: int, image_shape: tuple[int, ...], *, device: torch.device | str = "cpu") -> None:
        """Create an empty ring.

        Args:
            capacity: The number of rows.
            image_shape: The shape (c, h, w) of an image.
            device: The device of the rows.
        """
        require(capacity >= 1, "capacity", "at least 1", capacity)
        self.capacity = capacity
        self.seen = 0
        self._images = torch.zeros(capacity, *image_shape, dtype=torch.uint8, device=device)
        self._labels = torch.zeros(capacity, dtype=torch.int64, device=device)

    def __len__(self) -> int:
        return min(self.seen, self.capacity)

    @property
    def images(self) -> Tensor:
        """The filled rows' images, shape (len, c, h, w)."""
        return self._images[: len(self)]

    @property
    def labels(self) -> Tensor:
        """The filled rows' labels, shape (len,)."""
        return self._labels[: len(self)]

    def insert(self, images: Tensor, labels: Tensor) -> None:
        """Store items in order.

        Args:
            images: Tensor of shape (n, c, h, w), uint8.
            labels: Tensor of shape (n,).
        """
        newest = slice(max(0, len(labels) - self.capacity), None)  # the earlier ones would be overwritten
        slots = torch.arange(self.seen, self.seen + len(labels), device=self._labels.device)[newest] % self.capacity
        self._images[slots], self._labels[slots] = images[newest], labels[newest]
        self.seen += len(labels)

    def shuffled(self, generator: Generator) -> ImageSet:
        """Copy all items in random order."""
        order = torch.randperm(len(self), generator=generator).to(self._labels.device)
        return ImageSet(self.images, self.labels)[order]

    def state_dict(self) -> dict[str, Any]:
        """Return the filled rows and the counter."""
        return {"seen": self.seen, "images": self.images.clone(), "labels": self.labels.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state of a ring with the same capacity and image shape."""
        self.seen = state["seen"]
        filled = len(state["labels"])
        require(filled == len(self), "state", f"a state of {len(self)} rows", filled)
        self._images[:filled] = state["images"]
        self._labels[:filled] = state["labels"]
