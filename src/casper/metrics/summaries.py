"""Metrics of an accuracy matrix.

Throughout, a[j][i] is the accuracy in percent on the test set of task i after task j, 0-based, and T is the number of
tasks. A function that returns a number returns None if a required entry was not measured or the value is undefined
(T = 1). Compute the metrics per run and then average over runs: adjusted forgetting is a mean of ratios.
"""

from collections.abc import Sequence
from statistics import mean

from casper.metrics.accuracy import AccuracyMatrix


def final_average_accuracy(matrix: AccuracyMatrix) -> float | None:
    """Compute A_F = (1/T) Σ_i a[T-1][i].

    Example:
        >>> from casper.metrics import final_average_accuracy
        >>> final_average_accuracy([[80.0, None], [60.0, 90.0]])
        75.0
    """
    return _mean(matrix[-1])


def forgetting(matrix: AccuracyMatrix) -> float | None:
    """Compute F = 1/(T-1) Σ_{i<T-1} (max_{i<=j<=T-1} a[j][i] - a[T-1][i]).

    The maximum includes the last row, so F >= 0. (Chaudhry et al., "Riemannian Walk", ECCV 2018, exclude it; their
    value can be negative.)

    Example:
        >>> from casper.metrics import forgetting
        >>> forgetting([[80.0, None], [60.0, 90.0]])
        20.0
    """
    return _mean([None if best is None else best - last for best, last in _best_and_last(matrix)])


def adjusted_forgetting(matrix: AccuracyMatrix) -> float | None:
    """Compute F* = 100/(T-1) Σ_{i<T-1} (a*_i - a[T-1][i]) / a*_i, with a*_i = max_{i<=j<=T-1} a[j][i].

    The percentage of its best accuracy that a task has lost, from 0 (no task ends below its best) to 100 (all old tasks
    end at zero); a task whose best is 0 counts as 0. The formula is inferred from the values in the CaSpeR paper, which
    cites it from elsewhere.

    Example:
        >>> from casper.metrics import adjusted_forgetting
        >>> adjusted_forgetting([[80.0, None], [60.0, 90.0]])
        25.0
    """
    return _mean([_share_lost(best, last) for best, last in _best_and_last(matrix)])


def adjusted_forgetting_before_last(matrix: AccuracyMatrix) -> float | None:
    """Compute F* with a*_i = max_{i<=j<=T-2} a[j][i]: the last row is excluded, so F* can be negative.

    Example:
        >>> from casper.metrics import adjusted_forgetting_before_last
        >>> adjusted_forgetting_before_last([[50.0, None], [60.0, 90.0]])
        -20.0
    """
    return _mean([_share_lost(best, last) for best, last in _best_and_last(matrix, include_last=False)])


def backward_transfer(matrix: AccuracyMatrix) -> float | None:
    """Compute BWT = 1/(T-1) Σ_{i<T-1} (a[T-1][i] - a[i][i]); Lopez-Paz and Ranzato (NeurIPS 2017).

    Example:
        >>> from casper.metrics import backward_transfer
        >>> backward_transfer([[80.0, None], [60.0, 90.0]])
        -20.0
    """
    return _mean([_difference(matrix[-1][i], matrix[i][i]) for i in range(len(matrix) - 1)])


def forward_transfer(matrix: AccuracyMatrix, untrained: Sequence[float | None]) -> float | None:
    """Compute FWT = 1/(T-1) Σ_{i>=1} (a[i-1][i] - r_i), where r_i is the untrained network's accuracy on task i.

    In class-incremental evaluation each term is about -r_i by construction: untrained classes are never predicted.

    Args:
        matrix: The accuracy matrix.
        untrained: The accuracies r_i.

    Example:
        >>> from casper.metrics import forward_transfer
        >>> forward_transfer([[80.0, 30.0], [60.0, 90.0]], untrained=[10.0, 20.0])
        10.0
    """
    return _mean([_difference(matrix[i - 1][i], untrained[i]) for i in range(1, len(matrix))])


def summarize(matrix: AccuracyMatrix, untrained: Sequence[float | None]) -> dict[str, object]:
    """Return the matrix and all metrics computed from it, in the layout of `metrics.json`.

    Example:
        >>> from casper.metrics import summarize
        >>> summary = summarize([[80.0, 30.0], [60.0, 90.0]], untrained=[10.0, 20.0])
        >>> summary["final_average_accuracy"], summary["forgetting"]
        (75.0, 20.0)
    """
    return {
        "accuracy_matrix": [list(row) for row in matrix],
        "final_average_accuracy": final_average_accuracy(matrix),
        "forgetting": forgetting(matrix),
        "adjusted_forgetting": adjusted_forgetting(matrix),
        "adjusted_forgetting_before_last": adjusted_forgetting_before_last(matrix),
        "backward_transfer": backward_transfer(matrix),
        "forward_transfer": forward_transfer(matrix, untrained),
        "untrained_accuracy": list(untrained),
    }


def _best_and_last(matrix: AccuracyMatrix, include_last: bool = True) -> list[tuple[float | None, float]]:
    """List, for each old task, its best accuracy since it was learned (None if not measured) and its last one."""
    rows = len(matrix) if include_last else len(matrix) - 1
    pairs = []
    for i in range(len(matrix) - 1):
        column = [matrix[j][i] for j in range(i, rows)]
        measured = [value for value in column if value is not None]
        last = matrix[-1][i]
        known = last is not None and len(measured) == len(column)
        pairs.append((max(measured) if known else None, last if last is not None else 0.0))
    return pairs


def _share_lost(best: float | None, last: float) -> float | None:
    if best is None:
        return None
    return 100 * (best - last) / best if best > 0 else 0.0


def _difference(value: float | None, reference: float | None) -> float | None:
    return None if value is None or reference is None else value - reference


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if values and len(known) == len(values) else None


def averages_so_far(matrix: Sequence[Sequence[float | None]]) -> list[float]:
    """Average each row of an accuracy matrix over the tasks seen so far; empty if a row is missing, as in `joint`.

    Example:
        >>> from casper.metrics import averages_so_far
        >>> averages_so_far([[80.0, None], [60.0, 90.0]])
        [80.0, 75.0]
    """
    rows = [[value for value in row[: place + 1] if value is not None] for place, row in enumerate(matrix)]
    whole = all(len(row) == place + 1 for place, row in enumerate(rows))
    return [mean(row) for row in rows] if whole else []


def forgetting_so_far(matrix: AccuracyMatrix) -> list[float]:
    """Compute the forgetting after each task from the second on; empty if a row is missing or there is only one.

    After j tasks, F_j = 1/(j-1) Σ_{i<j} (max_{i<=k<=j} a[k][i] - a[j][i]), i counted from 1: `forgetting` of the
    first j rows of the matrix.

    Example:
        >>> from casper.metrics import forgetting_so_far
        >>> forgetting_so_far([[90.0, None, None], [80.0, 90.0, None], [70.0, 60.0, 90.0]])
        [10.0, 25.0]
    """
    found = [forgetting(matrix[:learned]) for learned in range(2, len(matrix) + 1)]
    known = [value for value in found if value is not None]
    return known if len(known) == len(found) else []
