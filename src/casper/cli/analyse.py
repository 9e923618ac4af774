"""`casper analyse`: analyse the latent space of finished runs."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.box import SIMPLE_HEAD
from rich.progress import Progress
from rich.table import Table
from typer import Argument, Option

from casper.cli.console import SafeConsole, say, show, warn
from casper.cli.options import (
    DATA,
    OUTPUT,
    DeviceOption,
    MaxDecodedSizeOption,
    ThreadsOption,
    announce_imports,
    choose_device,
    limit_decoded_size,
    use_threads,
)
from casper.config import ConfigError, flattened
from casper.config.errors import brief
from casper.config.registry import custom_parts
from casper.runs import RunDirectory
from casper.runs.directory import kept_checkpoints
from casper.runs.results import read_analysis

if TYPE_CHECKING:
    from casper.runs.analyse import AnalysisOptions

_NONE = "none"
_ANALYSIS = "Analysis"
_COLUMNS = {
    "memory": "memory",
    "label_signal_variation": "σ",
    "label_signal_variation_share": "σ/edges",
    "knn_5_majority": "5-NN plain %",
    "knn_11_majority": "11-NN plain %",
    "eigengap": "gap",
    "num_components": "components",
    "same_class_variance_ratio": "variance in class",
}


def analyse(
    runs: Annotated[
        list[Path], Argument(metavar="RUNS", help="Directories of single runs, with checkpoints of their task ends.")
    ],
    neighbors: Annotated[
        int | None,
        Option(
            metavar="N",
            help="Neighbours of each point in the graphs of σ and of functional maps. Default: as the authors, 5 for "
            "σ (4 if the memory size is nearer to 2000 than to 500) and 20 for functional maps.",
            rich_help_panel=_ANALYSIS,
        ),
    ] = None,
    maps: Annotated[
        str | None,
        Option(
            metavar="A:B",
            help="Functional maps from the end of task A to the end of task B, on the test images of tasks 1 to A; "
            "several as `5:10,1:10`; or `none`. Default: from the middle to the last task, as in the paper.",
            rich_help_panel=_ANALYSIS,
        ),
    ] = None,
    rank: Annotated[
        int | None,
        Option(
            metavar="N",
            help="Eigenfunctions in a functional map. Default: 25, as in the paper, or the number of test images.",
            rich_help_panel=_ANALYSIS,
        ),
    ] = None,
    embed: Annotated[
        str | None,
        Option(
            metavar="TASKS",
            help="Task ends at which the memory is embedded by t-SNE, such as `4,7,10`; or `none`. Default: after "
            "40 %, 70 % and all of the tasks.",
            rich_help_panel=_ANALYSIS,
        ),
    ] = None,
    features: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Also write the features of the memory and of the test images at every task end to this .npz file.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Directory of data sets, searched first. Default: the one of the run.",
            rich_help_panel=DATA,
        ),
    ] = None,
    max_decoded_size: MaxDecodedSizeOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
) -> None:
    """Analyse the latent space of finished runs at every task end that has a checkpoint.

    - `casper run --keep-checkpoints --out runs/one`, then `casper analyse runs/one`

    - `casper run --analyse`: analyse at the end of the run, without keeping the checkpoints

    Of the memory's features it computes: σ, the number of edges between different classes in their graph of nearest
    neighbours (lower is better), and its share of all edges; the eigengap of that graph at the number of classes
    (higher is better) and its number of connected components; and the accuracy of a 5-NN and an 11-NN classifier, by a
    plain vote, on the test images of the tasks seen so far. Of the test features: the variance within a class, as a
    share of the total variance.

    The result is written to RUN/analysis.json, and `casper figure` draws it. Without checkpoints of task ends, a run
    that has an analysis is printed, and of any other finished run the last task end is analysed.
    """
    if features is not None and (len(runs) > 1 or features.suffix != ".npz"):
        found = f"{len(runs)} runs" if len(runs) > 1 else brief(str(features))
        raise ConfigError(f"--features must be one .npz file for one run, but got {found}")
    from casper.runs import AnalysisOptions

    questions = AnalysisOptions(neighbors, _pairs(maps), rank, _ends(embed))
    use_threads(threads)
    limit_decoded_size(max_decoded_size)
    for path in runs:
        directory = RunDirectory(path)
        if not directory.config.exists():
            found = f"has no config.yaml; for the runs in it: {path}/*" if path.is_dir() else "is not a directory"
            raise ConfigError(f"RUNS must be directories of runs, but {path} {found}")
        if not kept_checkpoints(path) and (earlier := _found_before(directory)) is not None:
            if questions != AnalysisOptions() or features is not None:
                hint = "run it with --keep-checkpoints"
                raise ConfigError(f"{path} has no checkpoints of its task ends to analyse again; {hint}")
            warn(f"{path} has no checkpoints of its task ends; this is its earlier analysis")
            _show(directory, earlier)
            continue
        stored = directory.read_environment().get("data_dir")
        found_in = str(data_dir) if data_dir is not None else stored if isinstance(stored, str) else None
        show_analysis(directory, questions, choose_device(device), found_in, features=features)


def _found_before(directory: RunDirectory) -> dict[str, Any] | None:
    """Read an earlier analysis that cannot be repeated; returns None if there is none.

    The last task end can always be analysed again, as every finished run has its checkpoint.
    """
    before = read_analysis(directory)
    return (
        before if before is not None and (len(before["task_ends"]) > 1 or not directory.checkpoint.exists()) else None
    )


def show_analysis(
    directory: RunDirectory,
    questions: "AnalysisOptions | None" = None,
    device: str = "cpu",
    data_dir: str | None = None,
    *,
    features: Path | None = None,
    keep_checkpoints: bool = True,
) -> None:
    """Analyse a run, with a progress bar, and print the result; the user's modules that it imports are named first."""
    from casper.runs.analyse import analyse_run

    parts = custom_parts(flattened(directory.read_layout()))
    announce_imports({name.partition(":")[0] for _, name in parts})
    console = SafeConsole()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        ends = bar.add_task("task ends", total=None)
        answers = analyse_run(
            directory,
            questions,
            device=device,
            data_dir=data_dir,
            features=features,
            keep_checkpoints=keep_checkpoints,
            progress=lambda done, total: bar.update(ends, completed=done, total=total),
            warn=warn,
        )
    _show(directory, answers)
    written = [directory.analysis, *([] if features is None else [features])]
    say(f"written to {', '.join(map(str, written))}")


def _show(directory: RunDirectory, answers: dict[str, Any]) -> None:
    try:
        _print(directory, answers)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ConfigError(f"{directory.analysis} is not the analysis of a run") from error


def _print(directory: RunDirectory, answers: dict[str, Any]) -> None:
    show(_table(f"{directory.path.name}, {answers['num_neighbors']} neighbours", answers))
    for found in answers["functional_maps"]:
        parts = " and ".join(map(str, found["num_components"]))
        say(
            f"functional map from {found['from']} to {found['to']} tasks: off-diagonal energy "
            f"{found['off_diagonal_energy']:.2f}, share {found['off_diagonal_share']:.3f} "
            f"({found['points']} points, {found['rank']} eigenfunctions, graphs with {parts} components)"
        )


def _table(title: str, answers: dict[str, Any]) -> Table:
    table = Table("tasks", *_COLUMNS.values(), box=SIMPLE_HEAD, title=title, pad_edge=False)
    for column in table.columns:
        column.justify = "right"
    for end in answers["task_ends"]:
        known = {**end, **(end["spectrum"] or {})}
        table.add_row(str(end["tasks_learnt"]), *(_cell(known.get(name)) for name in _COLUMNS))
    return table


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    if float(value).is_integer():
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) >= 10 else f"{value:.4f}"


def _pairs(text: str | None) -> Sequence[tuple[int, int]] | None:
    if text is None or text == _NONE:
        return None if text is None else []
    if not re.fullmatch(r"\d{1,4}:\d{1,4}(,\d{1,4}:\d{1,4})*", text):
        raise ConfigError(f"--maps must be `none` or pairs of task ends like 5:10,1:10, but got {brief(text)}")
    return [(int(first), int(last)) for first, last in (pair.split(":") for pair in text.split(","))]


def _ends(text: str | None) -> Sequence[int] | None:
    if text is None or text == _NONE:
        return None if text is None else []
    if not re.fullmatch(r"\d{1,4}(,\d{1,4})*", text):
        raise ConfigError(f"--embed must be `none` or task ends like 4,7,10, but got {brief(text)}")
    return [int(end) for end in text.split(",")]
