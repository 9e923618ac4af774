"""The most recent items."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Generator, Tensor

from casper._repr import ShowsSettings
from casper.errors import require
from casper.types import ImageSet


class Ring(ShowsSettings):
    """Images (uint8) and labels of the last `capacity` items; the newest overwrites the oldest."""

    def __init__(self, capacity: int, image_shape: tuple[int, ...], *, device: torch.device | str = "cpu") -> None:
        """Make an empty ring.

        Args:
            capacity: The number of rows.
            image_shape: The shape (c, h, w) of an image.
            device: Where the rows live.
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
        """Take items in, in order.

        Args:
            images: Tensor of shape (n, c, h, w), uint8.
            labels: Tensor of shape (n,).
        """
        kept = slice(max(0, len(labels) - self.capacity), None)  # of those that would overwrite each other, the last
        slots = torch.arange(self.seen, self.seen + len(labels), device=self._labels.device)[kept] % self.capacity
        self._images[slots], self._labels[slots] = images[kept], labels[kept]
        self.seen += len(labels)

    def shuffled(self, generator: Generator) -> ImageSet:
        """Copy out all items, in random order."""
        order = torch.randperm(len(self), generator=generator).to(self._labels.device)
        return ImageSet(self.images, self.labels)[order]

    def state_dict(self) -> dict[str, Any]:
        """Return the filled rows and the counter."""
        return {"seen": self.seen, "images": self.images.clone(), "labels": self.labels.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of a ring of the same make."""
        self.seen = state["seen"]
        filled = len(state["labels"])
        require(filled == len(self), "state", f"of {len(self)} rows, as many as were seen and fit", filled)
        self._images[:filled] = state["images"]
        self._labels[:filled] = state["labels"]
