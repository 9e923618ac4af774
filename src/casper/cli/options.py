"""Options that commands share: device and threads, a run to resume, how many runs are made."""

import inspect
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import torch
from rich.console import Console
from typer import Option

from casper.cli.console import warn
from casper.cli.sweep_progress import SweepDisplay, counts
from casper.config import ConfigError, RunConfig
from casper.config.errors import flag, printable
from casper.formatting import duration
from casper.reports import telling_apart
from casper.runs import CheckpointEvery, Interruption, RunDirectory, RunInterrupted
from casper.runs.lock import lock_owner
from casper.sweeps import LocalLauncher, Sweep, SweepRun, cores, estimate, trial_seconds

MOST_THREADS = 1024


def choose_device(name: str) -> str:
    """Turn `auto`, `cpu`, `cuda` or `cuda:N` into a device that is there, or raise `ConfigError`."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d{1,4})?", name):
        raise ConfigError(f"--device should be auto, cpu, cuda or cuda:N; found {name!r}")
    available = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return "cuda" if available else "cpu"
    if name.startswith("cuda") and int(name.partition(":")[2] or 0) >= available:
        raise ConfigError(f"--device {name} should be a GPU of this machine; found {available} GPUs")
    return name


def use_threads(threads: int | None) -> None:
    """Set how many threads PyTorch computes with; None: leave that to PyTorch."""
    if threads is None:
        return
    if not 1 <= threads <= MOST_THREADS:
        raise ConfigError(f"--threads should be in 1..{MOST_THREADS}; found {threads}")
    torch.set_num_threads(threads)


def precision_notes(precision: str, device: str) -> list[str]:
    """Warn of bf16 on a CPU that has no instructions for it: every product is emulated, and takes longer."""
    slow = precision == "bf16" and device == "cpu" and torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2")
    return ["--precision bf16 is slower than fp32 on this CPU, which has no instructions for it"] if slow else []


@dataclass(frozen=True)
class BegunRun:
    """A run that was begun.

    Attributes:
        config: Its configuration.
        environment: What else it was begun with; may be empty.
        metrics: Its result; None: it is not finished.
    """

    config: RunConfig
    environment: Mapping[str, Any]
    metrics: dict[str, Any] | None

    def as_before(self, device: str, threads: int | None, data_dir: str | None) -> tuple[str, int | None, str | None]:
        """Take of device, threads and data directory what was not given now as it was then."""
        before = self.environment
        if threads is None and before.get("threads") in range(1, MOST_THREADS + 1):
            threads = int(before["threads"])
        if data_dir is None and isinstance(before.get("data_dir"), str):
            data_dir = before["data_dir"]
        if device == "auto" and isinstance(before.get("device"), str):
            with suppress(ConfigError):  # not on this machine
                device = choose_device(before["device"])
        return device, threads, data_dir

    def wished(self, name: str) -> bool:
        """Tell whether something was asked for as it was begun, or gone on with: `analyse`, `keep_checkpoints`."""
        return self.environment.get(name) is True


def begun_run(path: Path, others: Sequence[str]) -> BegunRun:
    """Find the run in a directory.

    Args:
        path: Its directory.
        others: The names of options given beside it, of which it has no need.
    """
    if others:
        raise ConfigError(f"--resume goes on with a run as it was configured; found {flag(others[0])} as well")
    directory = RunDirectory(path)
    state = directory.state()
    if state == "empty":
        raise ConfigError(f"--resume {path} should be the directory of a run; found none")
    metrics = directory.read_metrics() if state == "finished" else None
    return BegunRun(directory.read_config(), directory.read_environment(), metrics)


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
