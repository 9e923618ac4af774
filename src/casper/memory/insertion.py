"""Which slot an arriving item takes: policies of a memory of fixed size.

A policy is a pure function of what the memory holds and one uniform random number. It is asked once per item, in order,
because each answer depends on the ones before.
"""

from collections.abc import Callable, Sequence

from casper.memory.class_index import ClassIndex

# (index, capacity, seen, label, uniform) -> slot, or None: the item is not kept
Policy = Callable[[ClassIndex, int, int, int, float], int | None]


def reservoir(index: ClassIndex, capacity: int, seen: int, label: int, uniform: float) -> int | None:
    """Reservoir sampling: after s items each of them is kept with probability M/s.

    The first M items fill the slots. Item number s (from 0) then draws r ~ U{0..s}; it takes slot r if r < M and is
    dropped otherwise. `seen` counts presentations, all epochs included.

    Args:
        index: What the memory holds.
        capacity: The number of slots M.
        seen: The number s of items presented before this one.
        label: The item's class; does not matter here.
        uniform: A random number in [0, 1).
    """
    if len(index) < capacity:
        return len(index)
    slot = int(uniform * (seen + 1))
    return slot if slot < capacity else None


def balanced_reservoir(index: ClassIndex, capacity: int, seen: int, label: int, uniform: float) -> int | None:
    """Reservoir sampling that keeps the classes even (the "balancoir" of the released code).

    The first M items fill the slots. Item number s then draws r ~ U{0..s} and is accepted if r < M, or if its class has
    no slot, or fewer than the median over the classes that have any. It replaces the (r mod count)-th slot, in slot
    order, of the class with the most slots (the lowest label among equals). Arguments as in `reservoir`.
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
    """Ask the policy for each item in turn and record its answers in `index`.

    Args:
        policy: `reservoir`, `balanced_reservoir`, or one of your own.
        index: What the memory holds; updated.
        capacity: The number of slots.
        seen: The number of items presented before these.
        labels: The items' classes.
        uniforms: One random number in [0, 1) per item.

    Returns:
        Which item each changed slot holds at the end. An item overwritten within the batch is not in it.
    """
    item_in_slot: dict[int, int] = {}
    for item, (label, uniform) in enumerate(zip(labels, uniforms, strict=True)):
        slot = policy(index, capacity, seen + item, label, uniform)
        if slot is not None:
            index.assign(slot, label)
            item_in_slot[slot] = item
    return item_in_slot
