"""`casper figure`: figures of finished runs."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from casper.cli.console import say, warn
from casper.config import ConfigError
from casper.plots import save_figure
from casper.reports import FIGURES, check_figure_name, check_figure_path, draw_figure, read_runs

FIGURE_HELP = (
    """Draw a figure of finished runs.

- `casper figure accuracy runs`

- `casper figure forgetting runs/demo --out forgetting.pdf`

The seeds of one variant are averaged, with their standard deviation; a figure of single runs uses the lowest seed. A
variant is named by its method and regularizers; further settings are added only where two names would be equal.

Figures:

"""
    + "\n".join(f"- `{name}`: {kind.description}" for name, kind in FIGURES.items())
    + """

`sigma`, `sigma-share`, `tsne`, `graph`, `fmaps` and `spectra` need an analysis of each run: `casper run --analyse`, or
`casper analyse RUN`.
"""
)


def figure(
    name: Annotated[str, Argument(metavar="NAME", help="Name of the figure, from the list above.")],
    places: Annotated[list[Path], Argument(metavar="RUNS", help="Run directories, or folders of them.")],
    out: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE",
            help="Where to write the figure: .png, .pdf or .svg; may be repeated. Default: NAME.png in the current "
            "directory.",
        ),
    ] = None,
    title: Annotated[
        str | None, Option(metavar="TEXT", help="The title. Default: the content, and the settings all runs share.")
    ] = None,
) -> None:
    """Draw a figure of finished runs."""
    check_figure_name(name)
    paths = out or [Path(f"{name}.png")]
    for path in paths:
        check_figure_path(path)
    runs, unfinished = read_runs(places, warn)
    if unfinished:
        warn(f"unfinished runs are left out: {', '.join(unfinished)}")
    if not runs:
        raise ConfigError("RUNS must contain at least one finished run, but got none")
    drawn = draw_figure(name, runs, title, warn)
    for path in paths:
        save_figure(drawn, path)
        say(f"{name}: written to {path}")


def write_picture(figure: Any, stem: Path) -> None:
    """Write a figure as PNG, for the screen, and as PDF, for print."""
    for suffix in ("png", "pdf"):
        path = stem.with_name(f"{stem.name}.{suffix}")
        save_figure(figure, path)
        say(f"written to {path}")
