"""`casper report`: tables of finished runs."""

from pathlib import Path
from typing import Annotated

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from casper.cli.console import say, show, warn
from casper.formatting import counted, printable
from casper.reports import MEASURES, Grid, Report, check_report_path, grid_of, make_report, read_runs, write_report
from casper.sweeps.sweep_file import runs_of_sweep, sweep_title


def report(
    places: Annotated[list[Path], Argument(metavar="RUNS", help="Run directories, or folders of them.")],
    out: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE",
            help="Write the report to this file: .md, .html, .tex or .csv; may be repeated. Default: print the "
            "accuracies on the console.",
        ),
    ] = None,
    sweep: Annotated[
        list[Path] | None,
        Option(metavar="FILE", help="Only the runs of this sweep file; may be repeated."),
    ] = None,
    title: Annotated[
        str | None,
        Option(metavar="TEXT", help="The report's title. Default: the sweep's `title:`, or the folder's name."),
    ] = None,
) -> None:
    """Summarize finished runs in tables of the paper's layout.

    - `casper report runs`

    - `casper report runs/compare --out compare.html --out compare.csv`

    A table has the mean and standard deviation over seeds, the gain of each regularizer over its plain method, paired
    by seed, with a 95 % interval, and the paper's value next to each cell. A run needs only its
    `config.yaml` and `metrics.json`.

    `.html` is one self-contained page: sortable tables, curves, and for every run its accuracy matrix and settings;
    two runs can be ticked and compared. `.csv` has one line per cell at full precision.
    """
    for path in out or []:
        check_report_path(path)
    runs, unfinished = read_runs(places, warn)
    if sweep:
        found = [runs_of_sweep(file, [run.layout for run in runs]) for file in sweep]
        runs = [run for place, run in enumerate(runs) if any(place in places for places, _ in found)]
        unfinished = sorted({name for _, missing in found for name in missing})
    accuracies = [measure.path for measure in MEASURES if measure.path.endswith("final_average_accuracy")]
    content = make_report(runs, unfinished, () if out else accuracies)
    heading = title or " and ".join(
        [sweep_title(file) for file in sweep or []] or [place.resolve().name for place in places]
    )
    if not out:
        show_report(content)
    for path in out or []:
        write_report(content, path, heading)
        say(f"{counted(len(content.runs), 'run')}; written to {path}")


def show_report(content: Report) -> None:
    """Print every table, one buffer size at a time so that it fits a terminal, and the notes."""
    for table in content.tables:
        show(Text(f"\n{printable(table.title)}", style="bold"))
        for note in table.notes:
            show(Text(printable(note), style="dim"))
        for size in table.columns:
            show(_rich(grid_of(table, [size], beside=False)))
    for note in content.notes:
        show(Text(printable(note), style="dim"))


def _rich(grid: Grid) -> Table:
    printed = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for number, header in enumerate(grid.headers):
        printed.add_column(header, justify="right" if number else "left", no_wrap=number > 0, overflow="fold")
    for row in grid.rows:
        if any(cell.text for cell in row[1:]):
            printed.add_row(*(Text(printable(cell.text.replace("\u2003", "  "))) for cell in row))
    return printed
