"""Insertion policies of a memory of fixed size: which slot an arriving item takes.

A policy is a pure function of the content of the memory and one uniform random number. It is called once per item, in
order, because each decision depends on the previous ones.
"""

from collections.abc import Callable, Sequence

from casper.memory.class_index import ClassIndex

# (index, capacity, seen, label, uniform) -> slot, or None if the item is not stored
Policy = Callable[[ClassIndex, int, int, int, float], int | None]


def reservoir(index: ClassIndex, capacity: int, seen: int, label: int, uniform: float) -> int | None:
    """Reservoir sampling: after s items, each of them is stored with probability M/s.

    The first M items fill the slots. Item number s (from 0) then draws r ~ U{0..s}; it takes slot r if r < M and is
    dropped otherwise. `seen` counts presentations, all epochs included.

    Args:
        index: The slots of each class in the memory.
        capacity: The number of slots M.
        seen: The number s of items presented before this one.
        label: The class of the item; not used here.
        uniform: A random number in [0, 1).

    Returns:
        The slot, or None if the item is not stored.

    Example:
        >>> from casper.memory import ClassIndex, reservoir
        >>> full = ClassIndex([0, 0, 1])
        >>> reservoir(full, capacity=3, seen=9, label=1, uniform=0.25)
        2
        >>> reservoir(full, capacity=3, seen=9, label=1, uniform=0.75)  # None: not stored
    """
    if len(index) < capacity:
        return len(index)
    slot = int(uniform * (seen + 1))
    return slot if slot < capacity else None


def balanced_reservoir(index: ClassIndex, capacity: int, seen: int, label: int, uniform: float) -> int | None:
    """Reservoir sampling that balances the classes (the "balancoir" of the released code).

    The first M items fill the slots. Item number s then draws r ~ U{0..s} and is accepted if r < M, or if its class has
    no slot, or fewer than the median over the classes that have any. It replaces the (r mod count)-th slot, in slot
    order, of the class with the most slots (the lowest label in a tie). Arguments as in `reservoir`.

    Example:
        >>> from casper.memory import ClassIndex, balanced_reservoir
        >>> full = ClassIndex([0, 0, 1])
        >>> balanced_reservoir(full, capacity=3, seen=9, label=2, uniform=0.75)  # a new class is always stored
        1
    """
    if len(index) < capacity:
        return len(index)
    draw = int(uniform * (seen + 1))
    if draw >= capacity and index.count(label) >= index.median_count():
        return None
    candidates = index.slots(index.largest_class())
    return candidates[draw % len(candidates)]


def plan_insertion(
    policy: Policy, index: ClassIndex, capacity: int, seen: int, labels: Sequence[int], uniforms: Sequence[float]
) -> dict[int, int]:
    """Call the policy for each item in order and record its decisions in `index`.

    Args:
        policy: `reservoir`, `balanced_reservoir`, or a custom one.
        index: The slots of each class in the memory; it is updated.
        capacity: The number of slots.
        seen: The number of items presented before these.
        labels: The items' classes.
        uniforms: One random number in [0, 1) per item.

    Returns:
        The item in each changed slot at the end, without items that were overwritten within the batch.
    """
    item_in_slot: dict[int, int] = {}
    for item, (label, uniform) in enumerate(zip(labels, uniforms, strict=True)):
        slot = policy(index, capacity, seen + item, label, uniform)
        if slot is not None:
            index.assign(slot, label)
            item_in_slot[slot] = item
    return item_in_slot
