"""What an accuracy matrix says after each task: a curve."""

from collections.abc import Sequence
from statistics import mean

from casper.metrics import AccuracyMatrix, forgetting


def averages_so_far(matrix: Sequence[Sequence[float | None]]) -> list[float]:
    """Average each row of an accuracy matrix over the tasks met so far; empty: a row is missing, as in `joint`."""
    rows = [[value for value in row[: place + 1] if value is not None] for place, row in enumerate(matrix)]
    whole = all(len(row) == place + 1 for place, row in enumerate(rows))
    return [mean(row) for row in rows] if whole else []


def forgetting_so_far(matrix: AccuracyMatrix) -> list[float]:
    """Compute the forgetting of the tasks met so far, from the second task on; empty: a row is missing, or all but one.

    After j tasks, F_j = 1/(j-1) Σ_{i<j} (max_{i<=k<=j} a[k][i] - a[j][i]), i counted from 1: `forgetting` of the
    matrix's first j rows.
    """
    found = [forgetting(matrix[:learnt]) for learnt in range(2, len(matrix) + 1)]
    known = [value for value in found if value is not None]
    return known if len(known) == len(found) else []
