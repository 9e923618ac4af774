"""`casper figure`: runs as pictures."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from casper.cli.console import say, warn
from casper.config import ConfigError
from casper.plots import save_figure
from casper.reports import FIGURES, check_figure_name, check_figure_path, draw_figure, read_runs

FIGURE_HELP = (
    """Draw finished runs.

Seeds of one variant are averaged, with their standard deviation; where a picture is of one run, it is of the lowest
seed. A run is named by its method and what is added to it, and further only where two would be alike.

Names:

"""
    + "\n".join(f"- `{name}`: {kind.description}" for name, kind in FIGURES.items())
    + """

`sigma`, `sigma-share`, `tsne`, `graph`, `fmaps` and `spectra` need an analysis of each run: `casper run --analyse`, or
`casper analyse RUN`.
"""
)


def figure(
    name: Annotated[str, Argument(metavar="NAME", help="The figure: " + ", ".join(FIGURES) + ".")],
    places: Annotated[list[Path], Argument(metavar="RUNS...", help="A run, or a folder of runs; any number of them.")],
    out: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE.{png,pdf,svg}",
            help="Where to write it; may be repeated. Default: NAME.png in the current directory.",
        ),
    ] = None,
    title: Annotated[str | None, Option(help="The title. Default: what is shown, and what the runs share.")] = None,
) -> None:
    """Draw finished runs."""
    check_figure_name(name)
    paths = out or [Path(f"{name}.png")]
    for path in paths:
        check_figure_path(path)
    runs, unfinished = read_runs(places, warn)
    if unfinished:
        warn(f"left out, not finished: {', '.join(unfinished)}")
    if not runs:
        raise ConfigError("RUNS must hold at least one finished run, but got none")
    drawn = draw_figure(name, runs, title, warn)
    for path in paths:
        save_figure(drawn, path)
        say(f"{name}: written to {path}")


def write_picture(figure: Any, stem: Path) -> None:
    """Write a picture as PNG, to look at, and as PDF, to print."""
    for suffix in ("png", "pdf"):
        path = stem.with_name(f"{stem.name}.{suffix}")
        save_figure(figure, path)
        say(f"written to {path}")
