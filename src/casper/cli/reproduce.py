"""`casper reproduce`: reproduce a table or a figure of the paper."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from rich.box import SIMPLE_HEAD
from rich.progress import Progress
from rich.table import Table
from typer import Argument, Exit, Option

from casper.cli.console import SafeConsole, say, show, warn
from casper.cli.figure import write_picture
from casper.cli.options import OUTPUT, WHAT, HowToRun, choose_device, limit_decoded_size, makes_many_runs, use_threads
from casper.cli.report import show_report
from casper.config import PROTOCOLS, ConfigError, RunConfig
from casper.config.errors import explained, unknown
from casper.errors import ParameterError
from casper.files import make_directory, write_whole
from casper.formatting import counted
from casper.paper.plan import plan_runs, refusing_methods
from casper.paper.tables import PAPER_PLOTS, PAPER_TABLES, paper_table
from casper.plots import draw_times
from casper.reports import Report, draw_figure, make_report, read_runs, write_report

_FEWEST_REPEATS = 3
_BUSY_LOAD = 0.5  # load of one core, by other processes
_TIMES = "Step times"


@makes_many_runs
def reproduce(
    table: Annotated[
        str, Argument(metavar="TABLE|FIGURE", help="One of: " + ", ".join((*PAPER_TABLES, *PAPER_PLOTS)) + ".")
    ],
    protocol: Annotated[
        str,
        Option(
            metavar="NAME",
            help="`paper`: as published; needs a GPU. `desk`: the same cells, each minutes on one CPU core. "
            "`pretrained`: behind a frozen network with ImageNet weights, each a minute.",
            rich_help_panel=WHAT,
        ),
    ] = "paper",
    seeds: Annotated[int, Option(metavar="N", help="Number of seeds, counted from 0.", rich_help_panel=WHAT)] = 5,
    only: Annotated[
        list[str] | None,
        Option(
            metavar="WORDS",
            help="Only cells that match these words: methods, regularizers, streams, buffer sizes or fractions of "
            "labels (0.05), in any order and number, such as `er-ace,der++,split-cifar100,500`; may be repeated.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    also: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="For every cell of CaSpeR also run this regularizer, such as `forward-only`; may be repeated.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    steps: Annotated[
        int, Option(metavar="N", help="For `times`: number of steps in one measurement.", rich_help_panel=_TIMES)
    ] = 30,
    repeats: Annotated[
        int,
        Option(
            metavar="N",
            help="For `times`: number of measurements of each method, taken in turn; at least 3.",
            rich_help_panel=_TIMES,
        ),
    ] = 3,
    out: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Directory of the runs' directories. Tables share runs, so use one directory for all tables, and "
            "another one for all figures. Default: runs/reproduce for tables, runs/figures for figures.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    *,
    how: HowToRun,
) -> None:
    """Execute every run behind a table or a figure of the paper, and print our values next to the paper's.

    - `casper reproduce cil --protocol desk --only er-ace,split-cifar100,500`

    - `casper reproduce cil --dry-run`: list the runs

    Tables: `cil`: Class-IL. `til`: Task-IL, from the same runs. `domain`: Rotated MNIST. `scr`: comparison with SCR and
    CSCCT. `knn`: k-NN probe. `derset`: the setting of the DER papers. `batchsizes`: smaller batches. `cssl`: few
    labels.

    Figures, written as PNG and PDF: `sigma`: label-signal variation over tasks (Fig. 2a). `tsne`: the memory's features
    in the plane (Fig. 2b). `fmaps`: functional maps from task 5 to 10 (Fig. 3). `times`: time of a training step with
    and without CaSpeR (supplement); run nothing else on the machine while it measures.

    Hyper-parameters and protocol are the paper's; each run's `config.yaml` lists where every value came from. The same
    command resumes after a stop. The table is printed, and written next to the runs as TABLE-PROTOCOL.md and .html,
    with the words of --only in the name.
    """
    if table not in (*PAPER_TABLES, *PAPER_PLOTS):
        raise unknown("table or figure", table, (*PAPER_TABLES, *PAPER_PLOTS))
    if protocol not in PROTOCOLS:
        raise unknown("protocol", protocol, PROTOCOLS)
    if seeds < 1:
        raise ConfigError(f"--seeds must be at least 1, but got {seeds}")
    figure = PAPER_PLOTS.get(table)
    content = figure.table if figure else paper_table(table)
    seeds = 1 if table == "times" else seeds
    configs = plan_runs(content, protocol, seeds, only=only or (), also=also or ())
    heading = f"{table}: {content.title}; {protocol} protocol, {counted(seeds, 'seed')}"
    say(heading)
    if refused := refusing_methods(content, protocol):
        say(f"left out, since they cannot be used with a trunk: {', '.join(refused)}")
    out = out or Path("runs/figures" if figure else "runs/reproduce")
    part = "".join(f"-{words.replace(',', '-').replace(' ', '')}" for words in only or [])
    if table == "times":
        _show_step_times(configs, out / f"{table}-{protocol}{part}", how, steps, repeats)
        return
    from casper.cli.make_runs import make_runs

    executed = make_runs(configs, out, replace(how, analyse=True) if figure else how)
    if how.dry_run:
        return
    done, left = executed.having("done"), [run.config.name for run in executed.runs if run.state != "done"]
    if not done:
        raise Exit(1)
    runs, _ = read_runs([run.directory.path for run in done])
    if figure:
        for name in figure.draws:
            write_picture(draw_figure(name, runs, warn=warn), out / f"{name}-{protocol}{part}")
    else:
        report = make_report(runs, left, list(content.measures.values()), table)
        _show_table(report, out / f"{table}-{protocol}{part}", f"{content.title} ({protocol} protocol)")
    if left:
        raise Exit(1)


def _show_table(report: Report, stem: Path, title: str) -> None:
    show_report(report)
    for suffix in ("md", "html"):
        path = stem.with_name(f"{stem.name}.{suffix}")
        write_report(report, path, title)
        say(f"written to {path}")


def _show_step_times(configs: Sequence[RunConfig], stem: Path, how: HowToRun, steps: int, repeats: int) -> None:
    """Measure step times, print them, and write a table and a figure; `stem` is their path without suffix."""
    if repeats < _FEWEST_REPEATS:
        raise ConfigError(f"--repeats must be at least {_FEWEST_REPEATS}, but got {repeats}")
    if how.dry_run:
        for config in configs:
            say(config.name)
        return
    import torch

    from casper.paper.timing import step_times
    from casper.reports.step_times import STEP_TIME_HEADERS, step_time_markdown, step_time_rows, timed_variants

    device = choose_device(how.device)
    use_threads(how.threads)
    limit_decoded_size(how.max_decoded_size)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > _BUSY_LOAD:
        warn(f"this machine is busy (load {load:.1f}): times and ratios will be inaccurate")
    console = SafeConsole()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        work = bar.add_task("measuring", total=None)
        try:
            measured = step_times(
                configs,
                steps=steps,
                repeats=repeats,
                device=device,
                data_dir=None if how.data_dir is None else str(how.data_dir),
                progress=lambda done, total, _: bar.update(work, completed=done, total=total),
            )
        except ParameterError as error:
            raise explained(error) from error
    table = Table(*STEP_TIME_HEADERS, box=SIMPLE_HEAD)
    for row in step_time_rows(measured):
        table.add_row(*row)
    for column in table.columns[1:]:
        column.justify = "right"
    show(table)
    options = configs[0].options
    stream = f"on {options.stream}, buffer {options.buffer_size}, batches of {options.batch_size}"
    where = device if device != "cpu" else f"CPU, {counted(torch.get_num_threads(), 'thread')}"
    notes = [
        f"{counted(steps, 'step')} of the second task, {counted(repeats, 'repeat')} of all methods in turn; evaluation "
        f"and the work at the start and end of a task are excluded. {where}; load before the measurement: {load:.1f}.",
        "Ratio: to the method alone, paired by repeat, the median and its range. Paper: the ratio it reports for a "
        "V100.",
    ]
    make_directory(stem.parent)
    report = stem.with_name(f"{stem.name}.md")
    write_whole(report, step_time_markdown(measured, f"Training steps {stream}", notes).encode())
    say(f"written to {report}")
    write_picture(draw_times(timed_variants(measured), f"{steps} training steps {stream}"), stem)
