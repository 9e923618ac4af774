"""Which rows of the memory to replay. All draws are without replacement."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import torch
from torch import Generator, Tensor

from casper.memory.class_index import ClassIndex


def uniform_rows(num_rows: int, size: int, generator: Generator) -> Tensor:
    """Draw min(size, num_rows) distinct rows, each with the same probability.

    Args:
        num_rows: The number of rows to draw from.
        size: How many to draw.
        generator: Where the randomness comes from.

    Returns:
        Tensor of row numbers, int64, in random order.
    """
    return torch.randperm(num_rows, generator=generator)[:size]


def balanced_rows(
    index: ClassIndex, size: int, num_classes: int, generator: Generator, *, shrink: bool = False
) -> Tensor:
    """Draw `size` distinct rows evenly from `num_classes` random classes, as far as the memory allows.

    With n = min(num_classes, classes of at least two rows), a class's quota is size // n, plus one for
    the first size mod n of them in random order. Classes that can fill the largest quota are chosen first, uniformly;
    if they are fewer than n, the best populated of the others join them and give what they have. So a scarce class
    costs a few rows, never an error or a repeated row.

    Args:
        index: What the memory holds.
        size: How many rows to draw.
        num_classes: From how many classes, at least 1.
        generator: Where the randomness comes from.
        shrink: The released code's rule instead: if fewer than n classes can fill the largest quota, n is set to their
            number, which raises the quota, and so on. Where that ends with no class at all, the rule above applies.

    Returns:
        Tensor of row numbers, int64, class by class; empty if no class has two rows.
    """
    size = min(size, len(index))
    counts = {label: count for label, count in index.counts.items() if count >= 2}
    wanted = min(num_classes, len(counts))
    if shrink:
        wanted = _shrink_to_fit(list(counts.values()), size, wanted) or wanted
    if wanted == 0:
        return torch.empty(0, dtype=torch.int64)

    largest_quota = -(-size // wanted)
    labels = list(counts)
    shuffled = [labels[place] for place in torch.randperm(len(labels), generator=generator).tolist()]
    # A stable sort: random order among those that fill the quota, then the others by what they have.
    chosen = sorted(shuffled, key=lambda label: -min(counts[label], largest_quota))[:wanted]
    order = torch.randperm(wanted, generator=generator).tolist()
    uniforms = iter(torch.rand(size, generator=generator, dtype=torch.float64).tolist())
    rows: list[int] = []
    for place, position in enumerate(order):
        slots = index.slots(chosen[position])
        quota = min(size // wanted + (place < size % wanted), len(slots))
        rows += _distinct(slots, islice(uniforms, quota))
    return torch.tensor(rows, dtype=torch.int64)


def _distinct(slots: Sequence[int], uniforms: Iterable[float]) -> Iterator[int]:
    """Draw one slot for each uniform number in [0, 1), without replacement.

    The beginning of a shuffle: number i picks among the slots from place i on, and the one at place i takes the place
    of the one picked. One tensor operation for a whole batch of draws, instead of one per class.
    """
    moved: dict[int, int] = {}
    for place, uniform in enumerate(uniforms):
        picked = place + int(uniform * (len(slots) - place))
        yield slots[moved.get(picked, picked)]
        moved[picked] = moved.get(place, place)


def _shrink_to_fit(counts: list[int], size: int, wanted: int) -> int:
    """Lower the number of classes until as many can fill the largest quota, as the released code does; 0: never."""
    while wanted:
        eligible = sum(count >= -(-size // wanted) for count in counts)
        if eligible >= wanted:
            break
        wanted = eligible
    return wanted
