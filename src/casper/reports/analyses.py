"""Read the analyses of runs for figures."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

from casper.config import ConfigError
from casper.reports.grouping import MissingDataError, Shown, Warn
from casper.reports.runs import FinishedRun
from casper.runs.results import Analysis, parse_analysis


def analysis_of(run: FinishedRun) -> Analysis:
    """Return a run's analysis; raises `MissingDataError` if there is none."""
    if run.analysis is None:
        raise MissingDataError("an analysis", "create it with `casper analyse RUN`, or run with --analyse")
    found = parse_analysis(run.analysis)
    if found is None:
        raise MissingDataError("a readable analysis", "analysis.json has another layout")
    return found


def with_memory(found: Mapping[int, Shown | None]) -> dict[int, Shown]:
    """Drop task ends without a value; raises `MissingDataError` if none is left, as for a very small memory."""
    known = {end: value for end, value in found.items() if value is not None}
    if not known:
        raise MissingDataError("a graph of its memory", "the memory needs more items than neighbours of each")
    return known


def shared_neighbors(runs: Sequence[FinishedRun], graph: str = "sigma") -> str:
    """Describe the number of neighbours in the graphs of a kind, which may depend on the size of the memory.

    Raises `ConfigError` if it differs between runs with equal memories.
    """
    by_size: dict[int, set[int]] = {}
    for run in runs:
        if run.analysis is not None and parse_analysis(run.analysis) is not None:
            by_size.setdefault(run.layout["buffer_size"], set()).add(run.neighbors(graph))
    found = sorted(set().union(*by_size.values()))
    if any(len(numbers) > 1 for numbers in by_size.values()):
        raise ConfigError(f"RUNS must all be analysed with the same --neighbors, but got {str(found)[1:-1]}")
    if len(found) > 1:
        return ", ".join(f"{number} (buffer {size})" for size, (number,) in sorted(by_size.items()))
    return str(found[0]) if found else "?"


def least_variation(runs: Sequence[FinishedRun]) -> dict[int, float] | None:
    """Average over runs the lowest possible σ at each task end. Returns None if their memories differ in size."""
    if len({run.layout["buffer_size"] for run in runs}) > 1:
        return None
    found: dict[int, list[float]] = {}
    for end in (end for analysis in _readable(runs) for end in analysis.task_ends):
        if end.label_signal_variation_least is not None:
            found.setdefault(end.tasks_learnt, []).append(end.label_signal_variation_least)
    return {end: mean(values) for end, values in found.items()}


def most_common_pair(runs: Sequence[FinishedRun], warn: Warn) -> tuple[int, int] | None:
    """Find the two task ends between which most runs have a map, and of several such pairs the latest.

    Returns None if there is no map.
    """
    pairs = Counter((each.start, each.end) for found in _readable(runs) for each in found.functional_maps)
    if not pairs:
        return None
    chosen = max(pairs, key=lambda pair: (pairs[pair], pair[1], pair[0]))
    if len(pairs) > 1:
        others = ", ".join(f"{start} to {end}" for start, end in sorted(pairs) if (start, end) != chosen)
        warn(f"the figure has the functional maps from task end {chosen[0]} to {chosen[1]}; there are also {others}")
    return chosen


def _readable(runs: Sequence[FinishedRun]) -> Iterable[Analysis]:
    """Return the readable analyses; `analysis_of` raises for the others."""
    analyses = (parse_analysis(run.analysis) for run in runs if run.analysis is not None)
    return (analysis for analysis in analyses if analysis is not None)
