"""An index from classes to slots of the memory."""

from bisect import bisect_left, insort
from collections.abc import Sequence

from casper.errors import ParameterError


class ClassIndex:
    """The slots of each class, in slot order, updated as slots are written.

    It uses plain lists on the CPU: class-balanced insertion reads these counts for every item, and a list lookup costs
    a fraction of a tensor operation.

    Example:
        >>> from casper.memory import ClassIndex
        >>> index = ClassIndex([3, 5, 3])
        >>> index.assign(1, 3)
        >>> index.counts, index.slots(3)
        ({3: 3}, [0, 1, 2])
    """

    def __init__(self, labels: Sequence[int] = ()) -> None:
        self._label_of: list[int] = []
        self._slots_of: dict[int, list[int]] = {}
        self._sizes: list[int] = []  # the class sizes, ascending: median and maximum without a search
        for slot, label in enumerate(labels):
            self.assign(slot, label)

    def __len__(self) -> int:
        return len(self._label_of)

    @property
    def classes(self) -> list[int]:
        """The classes with at least one slot, ascending."""
        return sorted(self._slots_of)

    @property
    def counts(self) -> dict[int, int]:
        """The number of slots of each class with at least one, ascending by class."""
        return {label: len(self._slots_of[label]) for label in sorted(self._slots_of)}

    def count(self, label: int) -> int:
        """Count the slots of a class."""
        return len(self._slots_of.get(label, ()))

    def slots(self, label: int) -> Sequence[int]:
        """List the slots of a class, ascending."""
        return self._slots_of.get(label, ())

    def first_slots(self, quota: int) -> list[int]:
        """List the first `quota` slots of every class, class by class."""
        return [slot for label in self.classes for slot in self._slots_of[label][:quota]]

    def median_count(self) -> float:
        """Compute the median number of slots over the classes with at least one."""
        middle = len(self._sizes) // 2
        return (self._sizes[middle] + self._sizes[~middle]) / 2

    def largest_class(self) -> int:
        """Return the class with the most slots; the lowest label in a tie."""
        most = self._sizes[-1]
        return min(label for label, slots in self._slots_of.items() if len(slots) == most)

    def assign(self, slot: int, label: int) -> None:
        """Record that a slot holds an item of class `label`; the next free slot is `len(self)`."""
        if slot == len(self._label_of):
            self._label_of.append(label)
        elif 0 <= slot < len(self._label_of):
            self._remove(slot, self._label_of[slot])
            self._label_of[slot] = label
        else:
            raise ParameterError("slot", f"in [0, {len(self._label_of)}]", str(slot))
        owned = self._slots_of.setdefault(label, [])
        self._resize(len(owned), len(owned) + 1)
        insort(owned, slot)

    def _remove(self, slot: int, label: int) -> None:
        owned = self._slots_of[label]
        self._resize(len(owned), len(owned) - 1)
        del owned[bisect_left(owned, slot)]
        if not owned:
            del self._slots_of[label]

    def _resize(self, old: int, new: int) -> None:
        if old:
            del self._sizes[bisect_left(self._sizes, old)]
        if new:
            insort(self._sizes, new)
