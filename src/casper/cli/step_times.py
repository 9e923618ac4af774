"""`casper reproduce times`: what a training step costs, with and without CaSpeR."""

import os
from collections.abc import Sequence
from pathlib import Path

import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from casper.cli.console import say, show, warn
from casper.cli.figure import write_picture
from casper.cli.options import HowToRun, choose_device, use_threads
from casper.config import ConfigError, RunConfig
from casper.config.errors import explained
from casper.errors import ParameterError
from casper.files import make_directory, write_whole
from casper.formatting import counted
from casper.paper import step_times
from casper.plots import draw_times
from casper.reports import STEP_TIME_HEADERS, step_time_markdown, step_time_rows, timed_variants

_FEWEST = 3
_BUSY = 0.5  # of one core, by others


def show_step_times(configs: Sequence[RunConfig], stem: Path, how: HowToRun, steps: int, repeats: int) -> None:
    """Measure, print, and write table and picture beside each other.

    Args:
        configs: What is measured, each without and with a regularizer.
        stem: The files' path without suffix.
        how: Device, threads, data directory, and whether to list only.
        steps: How many steps are measured at a time.
        repeats: How often.
    """
    if repeats < _FEWEST:
        raise ConfigError(f"--repeats should be at least {_FEWEST}; found {repeats}")
    if how.dry_run:
        for config in configs:
            say(config.name)
        return
    device = choose_device(how.device)
    use_threads(how.threads)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > _BUSY:
        warn(f"this machine is busy (load {load:.1f}): times and ratios will be rough")
    console = Console()
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
        f"and work at a task's start and end are not in it. {where}; load of the machine before: {load:.1f}.",
        "Ratio: to the method alone, paired by repeat, the median and its range. Paper: what it says of a V100.",
    ]
    make_directory(stem.parent)
    report = stem.with_name(f"{stem.name}.md")
    write_whole(report, step_time_markdown(measured, f"Training steps {stream}", notes).encode())
    say(f"written to {report}")
    write_picture(draw_times(timed_variants(measured), f"{steps} training steps {stream}"), stem)
