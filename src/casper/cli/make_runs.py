"""Make many runs, as `sweep`, `search`, `reproduce` and `demo` do, and show how they go."""

from collections.abc import Sequence
from pathlib import Path

import torch
from rich.console import Console

from casper.cli.console import say, warn
from casper.cli.options import MOST_THREADS, HowToRun, choose_device
from casper.cli.sweep_progress import SweepDisplay, counts
from casper.config import ConfigError, RunConfig, flattened
from casper.formatting import duration
from casper.reports.variants import written
from casper.runs import CheckpointEvery, Interruption, RunInterrupted
from casper.runs.lock import lock_owner
from casper.sweeps import LocalLauncher, Sweep, SweepRun, cores, estimate


def make_runs(configs: Sequence[RunConfig], out: Path, how: HowToRun) -> Sweep:
    """Make runs and show how they go; returns them, done or failed.

    Raises:
        ConfigError: For an option that is not valid.
        RunInterrupted: If it was asked to stop; the same command goes on.
    """
    every = CheckpointEvery.parse(how.checkpoint_every)
    for name in ("jobs", "threads"):
        number = getattr(how, name)
        if number is not None and not 1 <= number <= MOST_THREADS:
            raise ConfigError(f"--{name} must be in 1..{MOST_THREADS}, but got {number}")
    device, data_dir = choose_device(how.device), None if how.data_dir is None else str(how.data_dir)
    usual = torch.cuda.device_count() if device == "cuda" else cores()
    launcher = LocalLauncher(how.jobs or usual, device=device, threads=how.threads)
    after = {"keep_checkpoints": how.keep_checkpoints, "analyse": how.analyse}
    runs = Sweep(configs, out, data_dir=data_dir, checkpoint_every=every, **after)
    left = runs.having("missing", "unfinished")
    if how.dry_run:
        own = telling_apart(configs)
        for run in runs.runs:
            say("  ".join(filter(None, (f"{run.state:<10} {run.config.name}", own[run.config.name], _remark(run)))))
    say(f"{counts(runs.runs)}; in {out}, {launcher.slots} at a time, threads of each: {launcher.threads}")
    for run in runs.having("failed"):
        warn(run.reason)
    if how.dry_run or not left:
        return runs
    seconds = estimate(runs.runs, launcher.slots) if how.estimated else None
    if seconds is not None:
        say(f"estimated time: about {duration(seconds)}, by the runs that are done")
    interruption = Interruption("the runs under way finish their step and are kept; once more to stop at once")
    try:
        with interruption.watched(), SweepDisplay(Console(), runs.runs) as display:
            runs.run(launcher, display.changed, interruption=interruption)
    except RunInterrupted as stop:
        text = f"{stop}; {counts(runs.runs)}; the same command goes on"
        raise RunInterrupted(stop.signal, text) from stop
    say(f"{counts(runs.runs)}; in {out}")
    return runs


def _remark(run: SweepRun) -> str:
    """Say what there is to say of a run that is not done: who is making it, or why it failed before."""
    if run.state in ("missing", "unfinished"):
        owner, failure = lock_owner(run.directory.path), run.directory.read_failure()
        return f"under way: {owner}" if owner else f"failed before: {failure}" if failure else ""
    return run.reason


def telling_apart(configs: Sequence[RunConfig]) -> dict[str, str]:
    """Write by each run's name in which options it differs from those with the same name but for the hash.

    Where options differ, hyper-parameters are left out: they follow, as with another memory other ones are published.
    The text is empty if no other run has nearly the same name.
    """
    alike: dict[str, list[RunConfig]] = {}
    for config in configs:
        alike.setdefault(config.name.rpartition("-")[0], []).append(config)
    texts = {}
    for group in alike.values():
        settings = [flattened(config.as_dict()) for config in group]
        keys = sorted({key for each in settings for key in each})
        differing = [key for key in keys if len({str(each.get(key)) for each in settings}) > 1]
        shown = [key for key in differing if "." not in key] or differing
        for config, each in zip(group, settings, strict=True):
            texts[config.name] = ", ".join(written({key: each.get(key) for key in shown}))
    return texts
