"""What all commands share that make many runs: their options, and how the runs are made and shown."""

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import torch
from rich.console import Console
from typer import Option

from casper.cli.device import MOST_THREADS, choose_device
from casper.cli.warning import warn
from casper.config import ConfigError, RunConfig
from casper.config.errors import printable
from casper.reporting import SweepDisplay, counts, duration, telling_apart
from casper.runs import CheckpointEvery, Interruption, RunInterrupted
from casper.runs.lock import lock_owner
from casper.sweeps import LocalLauncher, Sweep, SweepRun, cores, estimate, trial_seconds

# What a process has computed when all is imported, PyTorch first of all: every run's process begins with that.
_STARTUP = time.process_time()


@dataclass(frozen=True)
class HowToRun:
    """The options of a command that makes many runs."""

    jobs: Annotated[
        int | None,
        Option(
            help="How many runs at a time, each a process with its share of the cores. Default: one per core, or GPU."
        ),
    ] = None
    dry_run: Annotated[bool, Option("--dry-run", help="List the runs and how far each is; run nothing.")] = False
    data_dir: Annotated[Path | None, Option(help="Where data sets are looked for first, as in `run`.")] = None
    device: Annotated[str, Option(help="auto, cpu, cuda (spread over all GPUs) or cuda:N.")] = "auto"
    threads: Annotated[int | None, Option(help="CPU threads of each run. Default: its share of the cores.")] = None
    checkpoint_every: Annotated[str, Option(metavar="auto|30s|200steps|task|never", help="As in `run`.")] = "auto"
    analyse: Annotated[bool, Option("--analyse", help="Look into every run's latent space, as in `run`.")] = False
    keep_checkpoints: Annotated[
        bool, Option("--keep-checkpoints", help="Keep every run's state after every task, as in `run`.")
    ] = False
    estimated: Annotated[
        bool, Option("--estimate/--no-estimate", help="Say first how long it may take; may need short trials.")
    ] = True


def makes_many_runs(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options in `HowToRun`, which it takes as `how`."""
    shared = inspect.signature(HowToRun).parameters
    own = [parameter for name, parameter in inspect.signature(command).parameters.items() if name != "how"]

    @wraps(command)
    def taking_options(**values: Any) -> None:
        how = HowToRun(**{name: values.pop(name) for name in shared})
        command(**values, how=how)

    options = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*own, *shared.values())]
    taking_options.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    taking_options.__annotations__ = {option.name: option.annotation for option in options}
    return taking_options


def make_runs(configs: Sequence[RunConfig], out: Path, how: HowToRun) -> Sweep:
    """Make runs and show how they go; returns them, done or failed.

    Raises:
        ConfigError: For an option that is not valid.
        RunInterrupted: If it was asked to stop; the same command goes on.
    """
    console = Console()
    every = CheckpointEvery.parse(how.checkpoint_every)
    for name in ("jobs", "threads"):
        number = getattr(how, name)
        if number is not None and not 1 <= number <= MOST_THREADS:
            raise ConfigError(f"--{name} should be in 1..{MOST_THREADS}; found {number}")
    device, data_dir = choose_device(how.device), None if how.data_dir is None else str(how.data_dir)
    usual = torch.cuda.device_count() if device == "cuda" else cores()
    launcher = LocalLauncher(how.jobs or usual, device=device, threads=how.threads)
    after = {"keep_checkpoints": how.keep_checkpoints, "analyse": how.analyse}
    runs = Sweep(configs, out, data_dir=data_dir, checkpoint_every=every, **after)
    left = runs.having("missing", "unfinished")
    if how.dry_run:
        own = telling_apart(configs)
        for run in runs.runs:
            words = (f"{run.state:<10} {run.config.name}", own[run.config.name], _remark(run))
            text = "  ".join(filter(None, words))
            console.print(printable(text), highlight=False, markup=False, soft_wrap=True)
    where = f"in {out}, {launcher.slots} at a time, threads of each: {launcher.threads}"
    console.print(f"{counts(runs.runs)}; {where}", highlight=False, markup=False, soft_wrap=True)
    for run in runs.having("failed"):
        warn(run.reason)
    if how.dry_run or not left:
        return runs
    if how.estimated:
        trial = partial(trial_seconds, device=device, threads=launcher.threads, data_dir=data_dir)
        expected = estimate(runs.runs, launcher.slots, trial, startup=_STARTUP)
        long = "unknown" if expected.seconds is None else f"about {duration(expected.seconds)}"
        console.print(f"estimated time: {long} ({expected.source})", highlight=False)
    interruption = Interruption("the runs under way finish their step and are kept; once more to stop at once")
    try:
        with interruption.watched(), SweepDisplay(console, runs.runs) as display:
            runs.run(launcher, display.changed, interruption=interruption)
    except RunInterrupted as stop:
        text = f"{stop}; {counts(runs.runs)}; the same command goes on"
        raise RunInterrupted(stop.signal, text) from stop
    console.print(f"{counts(runs.runs)}; in {out}", highlight=False, markup=False, soft_wrap=True)
    return runs


def _remark(run: SweepRun) -> str:
    """Say what there is to say of a run that is not done: who is making it, or why it failed before."""
    if run.state in ("missing", "unfinished"):
        owner, failure = lock_owner(run.directory.path), run.directory.read_failure()
        return f"under way: {owner}" if owner else f"failed before: {failure}" if failure else ""
    return run.reason
