"""`casper sweep`: many runs."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from casper.cli.options import HowToRun, makes_many_runs
from casper.sweeps.sweep_file import read_sweep


@makes_many_runs
def sweep(
    file: Annotated[Path, Argument(metavar="FILE.yaml", help="What to run.")],
    out: Annotated[
        Path | None, Option(help="Where the runs' directories go. Default: runs/NAME, after the file's name.")
    ] = None,
    *,
    how: HowToRun,
) -> None:
    """Make every run of a file, several at a time. Started again, it makes what is missing and repeats nothing.

    The file has the options of `casper run` as keys, and `grid:`, a mapping of keys to lists that is multiplied out;
    or `runs:`, a list of what each run has of its own; or both:

        stream: split-cifar100

        protocol: desk

        grid: {method: [er-ace, der++], regularizer: [none, casper], seed: [0, 1, 2]}

    Each run's directory is named by the hash of its configuration. One that fails is recorded, in its failure.json, and
    does not stop the others; the exit status is then 1. Ctrl-C stops all, and the same command goes on.
    """
    from casper.cli.make_runs import make_runs

    made = make_runs(read_sweep(file), out or Path("runs") / file.stem, how)
    if not how.dry_run and len(made.having("done")) < len(made.runs):
        raise typer.Exit(1)
