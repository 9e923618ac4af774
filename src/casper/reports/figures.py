"""The figures by name: each reads its data from finished runs and draws it."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from casper.config import ConfigError
from casper.config.errors import unknown
from casper.formatting import counted
from casper.metrics import AccuracyMatrix
from casper.metrics.summaries import averages_so_far, forgetting_so_far
from casper.plots.accuracy_matrices import MatrixVariant, draw_accuracy_matrices, mean_matrix
from casper.plots.curves import Curve, draw_over_tasks
from casper.plots.embeddings import EmbeddedVariant, LabelledPoints, draw_embeddings
from casper.plots.functional_maps import MappedVariant, draw_functional_maps
from casper.plots.labels import VariantName
from casper.plots.latent_graphs import GraphVariant, draw_latent_graphs
from casper.plots.spectra import MOST_ENDS, Eigenvalues, SpectralVariant, draw_spectra
from casper.plots.style import FIGURE_SUFFIXES
from casper.plots.times import TimedVariant, draw_times
from casper.reports.analyses import analysis_of, least_variation, most_common_pair, shared_neighbors, with_memory
from casper.reports.grouping import MissingDataError, Warn, gather
from casper.reports.runs import FinishedRun
from casper.runs.results import FunctionalMap, SmallGraph

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def graph_variant(name: VariantName, graph: SmallGraph) -> GraphVariant:
    """Prepare a graph for `casper.plots`."""
    points, labels, edges = graph.points, graph.labels, graph.edges
    return GraphVariant(name, points, labels, edges, graph.eigenvalues, graph.num_classes, graph.eigengap)


def accuracy_matrix_of(run: FinishedRun) -> AccuracyMatrix:
    """Return a run's accuracy matrix; raises `MissingDataError` if there is none."""
    matrix: AccuracyMatrix = run.main_block[1].get("accuracy_matrix", [])
    if not matrix or any(len(row) != len(matrix) for row in matrix):
        raise MissingDataError("an accuracy matrix", "metrics.json has no complete one")
    return matrix


_EMBED = "create it with `casper analyse RUN --embed`; the memory needs more than 30 items"
_MOST_PANELS = 24  # in figures with panels per variant; more are illegible
Draw = Callable[[Sequence[FinishedRun], str | None, Warn], "Figure"]


@dataclass(frozen=True)
class FigureKind:
    """A figure: a description in one line, and the function that draws it.

    Example:
        >>> from casper.reports import FIGURES
        >>> FIGURES["matrix"].description
        'accuracy on every task after every task, as a heat map'
    """

    description: str
    draw: Draw


def draw_figure(
    name: str, runs: Sequence[FinishedRun], title: str | None = None, warn: Warn = warnings.warn
) -> "Figure":
    """Draw a figure from finished runs; the seeds of one variant are averaged, or the lowest one is drawn.

    Args:
        name: One of `FIGURES`.
        runs: The runs.
        title: The title. Default: the content, and the settings that all runs share.
        warn: Called with a line about runs that are left out.

    Raises:
        ConfigError: For an unknown name, and for runs that lack the data.

    Example:
        >>> from casper.config import resolve_config
        >>> from casper.reports import FinishedRun, draw_figure
        >>> config = resolve_config({"method": "er"})
        >>> run = FinishedRun(config.name, config.as_dict(), {"seconds": {"train": 2.0}})
        >>> len(draw_figure("times", [run]).axes)
        1
    """
    check_figure_name(name)
    return FIGURES[name].draw(runs, title, warn)


def check_figure_name(name: str) -> None:
    """Raise `ConfigError` for an unknown figure.

    Example:
        >>> from casper.reports import check_figure_name
        >>> check_figure_name("accuracy")  # no error
    """
    if name not in FIGURES:
        raise unknown("figure", name, FIGURES)


def check_figure_path(path: Path) -> None:
    """Raise `ConfigError` for an unsupported file type.

    Example:
        >>> from pathlib import Path
        >>> from casper.reports import check_figure_path
        >>> check_figure_path(Path("figure.pdf"))  # no error
    """
    if path.suffix.lower() not in FIGURE_SUFFIXES:
        raise ConfigError(f"--out must end in {', '.join(FIGURE_SUFFIXES)}, but got {path.name!r}")


def _accuracy(runs: Sequence[FinishedRun], title: str | None, warn: Warn) -> "Figure":
    def read(run: FinishedRun) -> Mapping[int, float]:
        curve = averages_so_far(accuracy_matrix_of(run))
        if not curve:
            raise MissingDataError("an accuracy after every task", "joint trains on all tasks at once")
        return dict(enumerate(curve, start=1))

    return _over_tasks(runs, read, "average accuracy so far (%)", ".1f", title, warn)


def _forgetting(runs: Sequence[FinishedRun], title: str | None, warn: Warn) -> "Figure":
    def read(run: FinishedRun) -> Mapping[int, float]:
        curve = forgetting_so_far(accuracy_matrix_of(run))
        if not curve:
            raise MissingDataError(
                "an accuracy after each of several tasks", "there is no forgetting with joint, or with one task"
            )
        return dict(enumerate(curve, start=2))

    return _over_tasks(runs, read, "average forgetting so far (%)", ".1f", title, warn)


def _sigma(runs: Sequence[FinishedRun], title: str | None, warn: Warn, *, share: bool = False) -> "Figure":
    def read(run: FinishedRun) -> Mapping[int, float]:
        ends = analysis_of(run).task_ends
        if share:
            return with_memory({end.tasks_learnt: end.label_signal_variation_share for end in ends})
        return with_memory({end.tasks_learnt: end.label_signal_variation for end in ends})

    what = "σ as a share of all edges of the memory" if share else "label-signal variation σ of the memory"
    least = None if share else least_variation(runs)
    neighbors = shared_neighbors(runs)
    space = "\n" if "," in neighbors else " "  # several numbers are too long for one line
    label = f"{what},{space}k = {neighbors}"
    return _over_tasks(runs, read, label, ".3f" if share else ".4g", title, warn, least)


def _tsne(runs: Sequence[FinishedRun], title: str | None, warn: Warn) -> "Figure":
    shared_neighbors(runs)

    def read(run: FinishedRun) -> Mapping[int, LabelledPoints]:
        embeddings = {
            end.tasks_learnt: LabelledPoints(found.points, found.labels, found.purity, found.purity_most)
            for end in analysis_of(run).task_ends
            if (found := end.embedding) and found.points
        }
        if not embeddings:
            raise MissingDataError("an embedding", _EMBED)
        return embeddings

    gathered = gather(runs, read, warn, most=_MOST_PANELS)
    variants = [EmbeddedVariant(group.name, group.of_lowest_seed) for group in gathered.groups]
    return draw_embeddings(variants, title or f"Features (t-SNE) on {gathered.one_shown}")


def _graphs(runs: Sequence[FinishedRun], title: str | None, warn: Warn) -> "Figure":
    def read(run: FinishedRun) -> tuple[int, SmallGraph]:
        found = [(end.tasks_learnt, end.replay_batch) for end in analysis_of(run).task_ends if end.replay_batch]
        if not found:
            raise MissingDataError("the graph of a replay batch", _EMBED)
        return found[-1]

    gathered = gather(runs, read, warn, most=_MOST_PANELS)
    variants = [graph_variant(group.name, group.of_lowest_seed[1]) for group in gathered.groups]
    ends = {group.of_lowest_seed[0] for group in gathered.groups}
    if len({variant.labels for variant in variants}) > 1:
        warn("the replay batches differ, because the memories or the seeds do")
    shared = f"A replay batch after task {max(ends)} on {gathered.one_shown}"
    return draw_latent_graphs(variants, title or shared)


def _functional_maps(runs: Sequence[FinishedRun], title: str | None, warn: Warn) -> "Figure":
    shared_neighbors(runs, "map")
    wanted = most_common_pair(runs, warn)

    def read(run: FinishedRun) -> FunctionalMap:
        maps = {(found.start, found.end): found for found in analysis_of(run).functional_maps}
        if wanted is None:
            raise MissingDataError("a functional map", "it needs checkpoints at two task ends")
        if wanted not in maps:
            raise MissingDataError(f"a functional map from task end {wanted[0]} to {wanted[1]}", "it was not requested")
        return maps[wanted]

    gathered = gather(runs, read, warn, most=_MOST_PANELS)
    start, end = wanted or (0, 0)
    variants = []
    for group in gathered.groups:
        lowest, energies = group.of_lowest_seed, tuple(each.off_diagonal_energy for each in group.by_seed.values())
        variants.append(MappedVariant(group.name, lowest.matrix, (start, end), energies, lowest.num_components))
    shared = f"Functional maps from task end {start} to {end} on {gathered.one_shown}"
    return draw_functional_maps(variants, title or shared)


def _spectra(runs: Sequence[FinishedRun], title: str | None, warn: Warn) -> "Figure":
    shared_neighbors(runs)

    def read(run: FinishedRun) -> Mapping[int, Eigenvalues]:
        found = with_memory({end.tasks_learnt: end.spectrum for end in analysis_of(run).task_ends})
        return {
            end: Eigenvalues(each.eigenvalues, each.num_classes, each.eigengap, each.num_components)
            for end, each in found.items()
        }

    gathered = gather(runs, read, warn, one_stream=False, most=_MOST_PANELS)
    variants = [SpectralVariant(group.name, group.of_lowest_seed) for group in gathered.groups]
    ends = {end for variant in variants for end in variant.spectra}
    if len(ends) > MOST_ENDS:
        warn(f"the figure has {MOST_ENDS} of {len(ends)} task ends")
    return draw_spectra(variants, title or f"Spectrum of the memory's graph on {gathered.one_shown}")


def _matrices(runs: Sequence[FinishedRun], title: str | None, warn: Warn) -> "Figure":
    gathered = gather(runs, accuracy_matrix_of, warn, one_stream=False, most=_MOST_PANELS)
    variants = []
    for group in gathered.groups:
        size = len(group.of_lowest_seed)
        same = [matrix for matrix in group.by_seed.values() if len(matrix) == size]
        if len(same) < len(group.by_seed):  # a file edited by hand may have any length
            warn(f"left out: seeds of {group.name.text} whose number of tasks is not {size}")
        variants.append(MatrixVariant(group.name, mean_matrix(same)))
    return draw_accuracy_matrices(variants, title or f"Mean accuracy on {gathered.shared}")


def _times(runs: Sequence[FinishedRun], title: str | None, warn: Warn) -> "Figure":
    def read(run: FinishedRun) -> float:
        seconds = run.value("seconds.train")
        if seconds is None:
            raise MissingDataError("a time", "`seconds.train` of metrics.json is missing")
        return seconds

    gathered = gather(runs, read, warn)
    variants = [
        TimedVariant(group.name.base, group.name.addition.removeprefix("+ "), tuple(group.by_seed.values()))
        for group in gathered.groups
    ]
    return draw_times(variants, title or f"Time of training on {gathered.shared}")


def _over_tasks(
    runs: Sequence[FinishedRun],
    read: Callable[[FinishedRun], Mapping[int, float]],
    y_label: str,
    number: str,
    title: str | None,
    warn: Warn,
    least: Mapping[int, float] | None = None,
) -> "Figure":
    gathered = gather(runs, read, warn)
    curves = []
    for group in gathered.groups:
        measured = [set(values) for values in group.by_seed.values()]
        tasks = sorted(set.intersection(*measured))
        if len(tasks) < len(set.union(*measured)):
            warn(f"{group.name.text}: the figure has {counted(len(tasks), 'task end')} that all its seeds share")
        seeds = tuple(tuple(values[task] for task in tasks) for values in group.by_seed.values())
        if tasks:
            curves.append(Curve(group.name, tuple(tasks), seeds))
    if not curves:
        raise ConfigError("RUNS of one variant must share at least one task end over all seeds, but got none")
    return draw_over_tasks(curves, y_label, title or gathered.shared, number, least)


FIGURES: Mapping[str, FigureKind] = {
    "accuracy": FigureKind("average accuracy on the tasks seen so far, after each task", _accuracy),
    "forgetting": FigureKind("average forgetting of the tasks seen so far, after each task", _forgetting),
    "sigma": FigureKind(
        "edges between classes in the memory's graph after each task, and the lowest possible number", _sigma
    ),
    "sigma-share": FigureKind("the same as a share of all its edges", partial(_sigma, share=True)),
    "tsne": FigureKind("t-SNE of the memory's features, one row per variant and one column per task end", _tsne),
    "graph": FigureKind("latent graph and spectrum of one replay batch after the last task, side by side", _graphs),
    "fmaps": FigureKind("functional maps between two task ends, with their energy off the diagonal", _functional_maps),
    "spectra": FigureKind("lowest eigenvalues of the memory's graph after each task, with the gap", _spectra),
    "matrix": FigureKind("accuracy on every task after every task, as a heat map", _matrices),
    "times": FigureKind("wall-clock time of training, and its ratio to the method alone", _times),
}
