"""Draw rows of the memory for replay, without replacement."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import torch
from torch import Generator, Tensor

from casper.memory.class_index import ClassIndex


def uniform_rows(num_rows: int, size: int, generator: Generator) -> Tensor:
    """Draw min(size, num_rows) distinct rows, each with the same probability.

    Args:
        num_rows: The number of rows to draw from.
        size: The number of rows to draw.
        generator: The source of randomness.

    Returns:
        Tensor of row numbers, int64, in random order.

    Example:
        >>> import torch
        >>> from casper.memory import uniform_rows
        >>> uniform_rows(100, 8, torch.Generator().manual_seed(0)).shape
        torch.Size([8])
    """
    return torch.randperm(num_rows, generator=generator)[:size]


def balanced_rows(
    index: ClassIndex, size: int, num_classes: int, generator: Generator, *, shrink: bool = False
) -> Tensor:
    """Draw `size` distinct rows evenly from `num_classes` random classes, as far as the memory allows.

    With n = min(num_classes, classes of at least two rows), a class's quota is size // n, plus one for
    the first size mod n of them in random order. Classes that can fill the largest quota are chosen first, uniformly;
    if they are fewer than n, the largest of the other classes are added and give all their rows. A small class thus
    reduces the number of rows, but never causes an error or a repeated row.

    Args:
        index: The slots of each class in the memory.
        size: The number of rows to draw.
        num_classes: The number of classes to draw from, at least 1.
        generator: The source of randomness.
        shrink: Whether to use the released code's rule: if fewer than n classes can fill the largest quota, n is set
            to their number, which raises the quota, and so on. If no class is left, the rule above applies.

    Returns:
        Tensor of row numbers, int64, class by class; empty if no class has two rows.

    Example:
        >>> import torch
        >>> from casper.memory import ClassIndex, balanced_rows
        >>> labels = torch.tensor([0] * 6 + [1] * 4)
        >>> rows = balanced_rows(ClassIndex(labels.tolist()), 6, 2, torch.Generator().manual_seed(0))
        >>> labels[rows].bincount()
        tensor([3, 3])
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
    # A stable sort: the classes that fill the quota in random order, then the others by their number of rows.
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

    These are the first steps of a Fisher-Yates shuffle: number i picks one of the slots from position i on, and the
    slot at position i moves to the position of the picked one. It needs no tensor operation per class.
    """
    moved: dict[int, int] = {}
    for place, uniform in enumerate(uniforms):
        picked = place + int(uniform * (len(slots) - place))
        yield slots[moved.get(picked, picked)]
        moved[picked] = moved.get(place, place)


def _shrink_to_fit(counts: list[int], size: int, wanted: int) -> int:
    """Lower the number of classes until as many can fill the largest quota, as in the released code; may return 0."""
    while wanted:
        eligible = sum(count >= -(-size // wanted) for count in counts)
        if eligible >= wanted:
            break
        wanted = eligible
    return wanted
