"""The rehearsal memory: a fixed number of rows on the training device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

from casper._repr import ShowsSettings
from casper.errors import require
from casper.memory.class_index import ClassIndex
from casper.memory.insertion import Policy, plan_insertion
from casper.memory.sampling import balanced_rows, uniform_rows


@dataclass(frozen=True)
class Column:
    """An additional column of the memory, besides images and labels.

    Attributes:
        dtype: The type of an entry.
        per_class: Whether an item has one entry per class (logits) or a single one (a task number).

    Example:
        >>> import torch
        >>> from casper import Buffer, Column
        >>> columns = {"logits": Column(torch.float32, per_class=True), "task": Column(torch.int64)}
        >>> buffer = Buffer(4, (1, 8, 8), columns=columns, num_classes=10)
        >>> images, labels = torch.zeros(2, 1, 8, 8, dtype=torch.uint8), torch.tensor([0, 1])
        >>> buffer.append(images, labels, {"logits": torch.zeros(2, 10), "task": torch.tensor([0, 0])})
        >>> buffer.columns["logits"].shape
        torch.Size([2, 10])
    """

    dtype: torch.dtype
    per_class: bool = False


class Buffer(ShowsSettings):
    """Stores images (uint8, or feature vectors), labels and declared columns of at most `capacity` items, one row each.

    Rows 0 .. len(buffer) - 1 are filled; all methods return only these. `seen` counts the items passed to `insert`,
    stored or not, and to `append`.

    Example:
        >>> import torch
        >>> from casper import Buffer
        >>> from casper.memory import reservoir
        >>> buffer, generator = Buffer(4, (1, 8, 8)), torch.Generator().manual_seed(0)
        >>> images = torch.zeros(10, 1, 8, 8, dtype=torch.uint8)
        >>> buffer.insert(images, torch.arange(10) % 2, policy=reservoir, generator=generator)
        >>> len(buffer), buffer.seen
        (4, 10)
        >>> replayed = buffer.images[buffer.draw_uniform(2, generator)]
        >>> replayed.shape
        torch.Size([2, 1, 8, 8])
    """

    def __init__(
        self,
        capacity: int,
        image_shape: tuple[int, ...],
        *,
        columns: Mapping[str, Column] | None = None,
        num_classes: int = 0,
        device: str = "cpu",
        dtype: torch.dtype = torch.uint8,
    ) -> None:
        """Create an empty memory.

        Args:
            capacity: The number of rows; 0 for methods without a memory.
            image_shape: The shape of a stored image (c, h, w), or of the feature vectors in its place (views, d).
            columns: The additional columns by name.
            num_classes: The width of columns with one entry per class.
            device: The device of the rows.
            dtype: The type of stored images, or of feature vectors.
        """
        require(capacity >= 0, "capacity", "at least 0", capacity)
        self.capacity = capacity
        self.seen = 0
        self.index = ClassIndex()
        self._images = torch.zeros(capacity, *image_shape, dtype=dtype, device=device)
        self._labels = torch.zeros(capacity, dtype=torch.int64, device=device)
        self._columns = {
            name: torch.zeros(
                capacity, *((num_classes,) if column.per_class else ()), dtype=column.dtype, device=device
            )
            for name, column in (columns or {}).items()
        }

    def __len__(self) -> int:
        return len(self.index)

    def extra_repr(self) -> str:
        """Format the settings, the number of filled rows and `seen`."""
        return f"{super().extra_repr()}, filled={len(self)}, seen={self.seen}"

    @property
    def images(self) -> Tensor:
        """The filled rows' images, shape (len, c, h, w)."""
        return self._images[: len(self)]

    @property
    def labels(self) -> Tensor:
        """The filled rows' labels, shape (len,)."""
        return self._labels[: len(self)]

    @property
    def columns(self) -> dict[str, Tensor]:
        """The filled rows of every declared column."""
        return {name: column[: len(self)] for name, column in self._columns.items()}

    def insert(
        self,
        images: Tensor,
        labels: Tensor,
        columns: Mapping[str, Tensor] | None = None,
        *,
        policy: Policy,
        generator: Generator,
    ) -> None:
        """Offer items to the memory; the policy decides which of them are stored in which rows.

        Args:
            images: Tensor of shape (n, c, h, w), uint8.
            labels: Tensor of shape (n,).
            columns: One tensor of n rows for each declared column.
            policy: `reservoir` or `balanced_reservoir`.
            generator: The source of randomness of the policy.
        """
        columns = self._checked(images, labels, columns)
        seen, self.seen = self.seen, self.seen + len(labels)
        if self.capacity == 0:
            return
        uniforms = torch.rand(len(labels), generator=generator, dtype=torch.float64).tolist()
        item_in_slot = plan_insertion(policy, self.index, self.capacity, seen, labels.tolist(), uniforms)
        if not item_in_slot:
            return
        slots = torch.tensor(list(item_in_slot), device=self._labels.device)
        items = torch.tensor(list(item_in_slot.values()), device=labels.device)
        self._write(slots, images[items], labels[items], {name: values[items] for name, values in columns.items()})

    def append(self, images: Tensor, labels: Tensor, columns: Mapping[str, Tensor] | None = None) -> None:
        """Store items in free rows, in order; arguments as for `insert`."""
        columns = self._checked(images, labels, columns)
        free = self.capacity - len(self)
        require(len(labels) <= free, "labels", f"at most {free} items, the number of free rows", len(labels))
        first = len(self)
        self.seen += len(labels)
        for slot, label in enumerate(labels.tolist(), start=first):
            self.index.assign(slot, label)
        self._write(torch.arange(first, len(self), device=self._labels.device), images, labels, columns)

    def keep(self, rows: Sequence[int]) -> None:
        """Remove all rows except the given ones, which move to the front in the given order."""
        chosen = torch.tensor(rows, dtype=torch.int64, device=self._labels.device)
        for store in (self._images, self._labels, *self._columns.values()):
            store[: len(chosen)] = store.index_select(0, chosen)
        self.index = ClassIndex(self._labels[: len(chosen)].tolist())

    def update(self, name: str, rows: Tensor | slice, values: Tensor) -> None:
        """Write new values of one column into some filled rows."""
        self.columns[name][rows] = values.to(self._columns[name].dtype)

    def draw_uniform(self, size: int, generator: Generator) -> Tensor:
        """Draw min(size, len) distinct rows uniformly; see `uniform_rows`."""
        return uniform_rows(len(self), size, generator).to(self._labels.device)

    def draw_balanced(self, size: int, num_classes: int, generator: Generator, *, shrink: bool = False) -> Tensor:
        """Draw distinct rows evenly over classes; see `balanced_rows`."""
        return balanced_rows(self.index, size, num_classes, generator, shrink=shrink).to(self._labels.device)

    def state_dict(self) -> dict[str, Any]:
        """Return the filled rows and the counter."""
        return {
            "seen": self.seen,
            "images": self.images.clone(),
            "labels": self.labels.clone(),
            "columns": {name: column.clone() for name, column in self.columns.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state of a memory with the same columns and image shape."""
        filled = len(state["labels"])
        require(
            state["columns"].keys() == self._columns.keys(),
            "state",
            f"a state with the columns {[*self._columns]}",
            [*state["columns"]],
        )
        require(filled <= self.capacity, "state", f"a state of at most {self.capacity} rows", filled)
        self.seen = state["seen"]
        self._images[:filled] = state["images"]
        self._labels[:filled] = state["labels"]
        for name, column in self._columns.items():
            column[:filled] = state["columns"][name]
        self.index = ClassIndex(state["labels"].tolist())

    def _checked(self, images: Tensor, labels: Tensor, columns: Mapping[str, Tensor] | None) -> Mapping[str, Tensor]:
        """Raise `ParameterError` for items that do not fit the rows; returns their columns."""
        columns = columns or {}
        declared = columns.keys() == self._columns.keys()
        require(declared, "columns", f"the declared columns {sorted(self._columns)}", sorted(columns))
        stored, shape = self._images.dtype, (len(labels), *self._images.shape[1:])
        fitting = images.dtype == stored and images.shape == shape
        wanted = f"{str(stored).removeprefix('torch.')} of shape {shape}"
        require(fitting, "images", wanted, f"{images.dtype} of shape {tuple(images.shape)}")
        return columns

    def _write(self, slots: Tensor, images: Tensor, labels: Tensor, columns: Mapping[str, Tensor]) -> None:
        self._images[slots] = images
        self._labels[slots] = labels
        for name, values in columns.items():
            self._columns[name][slots] = values.to(self._columns[name].dtype)
