"""What figures take from runs: from one of them, or what they must have in common."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

from casper.config import ConfigError
from casper.metrics import AccuracyMatrix
from casper.reporting.figures.gathering import LackingError, Shown, Warn
from casper.reporting.finished_runs import FinishedRun
from casper.runs.results import Analysis, parse_analysis


def accuracy_matrix_of(run: FinishedRun) -> AccuracyMatrix:
    """Take a run's accuracy matrix; raises `LackingError`."""
    matrix: AccuracyMatrix = run.main_block[1].get("accuracy_matrix", [])
    if not matrix or any(len(row) != len(matrix) for row in matrix):
        raise LackingError("an accuracy matrix", "metrics.json has none that is whole")
    return matrix


def analysis_of(run: FinishedRun) -> Analysis:
    """Take what was found in a run's latent space; raises `LackingError`."""
    if run.analysis is None:
        raise LackingError("an analysis", "`casper analyse RUN` makes it, or run with --analyse")
    found = parse_analysis(run.analysis)
    if found is None:
        raise LackingError("an analysis that can be read", "analysis.json has another layout")
    return found


def with_memory(found: Mapping[int, Shown | None]) -> dict[int, Shown]:
    """Take what there is at each task end; without a memory, or with a tiny one, there is nothing at any."""
    known = {end: value for end, value in found.items() if value is not None}
    if not known:
        raise LackingError("a graph of its memory", "which must have more items than each has neighbours")
    return known


def shared_neighbors(runs: Sequence[FinishedRun]) -> str:
    """Find the number of neighbours in the graphs of all runs: others have other numbers, and are not comparable."""
    found = sorted({analysis.num_neighbors for analysis in _readable(runs)})
    if len(found) > 1:
        listed = ", ".join(map(str, found))
        raise ConfigError(f"RUNS should be analysed with one number of neighbours (--neighbors); found {listed}")
    return str(found[0]) if found else "?"


def least_variation(runs: Sequence[FinishedRun]) -> dict[int, float]:
    """Average over runs how low σ could have been, whatever the features, at each task end."""
    found: dict[int, list[float]] = {}
    for end in (end for analysis in _readable(runs) for end in analysis.task_ends):
        if end.label_signal_variation_least is not None:
            found.setdefault(end.tasks_learnt, []).append(end.label_signal_variation_least)
    return {end: mean(values) for end, values in found.items()}


def most_common_pair(runs: Sequence[FinishedRun], warn: Warn) -> tuple[int, int] | None:
    """Find the two task ends between which most runs have a map, and the latest of them; None: there is no map."""
    pairs = Counter((own.start, own.end) for found in _readable(runs) for own in found.functional_maps)
    if not pairs:
        return None
    chosen = max(pairs, key=lambda pair: (pairs[pair], pair[1], pair[0]))
    if len(pairs) > 1:
        others = ", ".join(f"{start} to {end}" for start, end in sorted(pairs) if (start, end) != chosen)
        warn(f"shown are the functional maps from task end {chosen[0]} to {chosen[1]}; there are also {others}")
    return chosen


def _readable(runs: Sequence[FinishedRun]) -> Iterable[Analysis]:
    """Take the analyses that there are; `analysis_of` says what is wrong with the others."""
    analyses = (parse_analysis(run.analysis) for run in runs if run.analysis is not None)
    return (analysis for analysis in analyses if analysis is not None)
