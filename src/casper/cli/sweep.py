"""`casper sweep`: execute the runs of a sweep file."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from casper.cli.options import OUTPUT, HowToRun, announce_imports, limit_decoded_size, makes_many_runs
from casper.sweeps.sweep_file import modules_of_sweep, read_sweep


@makes_many_runs
def sweep(
    file: Annotated[Path, Argument(metavar="FILE.yaml", help="The sweep file.")],
    out: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Directory of the runs' directories. Default: runs/NAME, after the name of the file.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    *,
    how: HowToRun,
) -> None:
    """Execute every run of a sweep file, several at a time; runs that are finished are not repeated.

    - `casper sweep compare.yaml --dry-run`: list the runs

    - `casper sweep compare.yaml`: execute them, or resume after Ctrl-C or a crash

    The keys of the file are the options of `casper run`, and `grid:`, a mapping of keys to lists whose combinations
    are all run, or `runs:`, a list of mappings, one per run; or both:

        stream: split-cifar100
        protocol: desk
        grid:
          method: [er-ace, der++]
          regularizer: [none, casper]
          seed: [0, 1, 2]

    Each run's directory is named by the hash of its configuration. If a run fails, the reason is written to its
    failure.json, the other runs continue, and the exit status is 1.
    """
    from casper.cli.make_runs import make_runs

    if how.dry_run:
        announce_imports(modules_of_sweep(file))
    limit_decoded_size(how.max_decoded_size)
    configs = read_sweep(file, None if how.data_dir is None else str(how.data_dir))
    executed = make_runs(configs, out or Path("runs") / file.stem, how)
    if not how.dry_run and len(executed.having("done")) < len(executed.runs):
        raise typer.Exit(1)
