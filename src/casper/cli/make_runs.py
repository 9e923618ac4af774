"""Execute many runs and display their progress, for `sweep`, `search`, `reproduce` and `demo`."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

import torch

from casper.cli.console import SafeConsole, complain, say, warn
from casper.cli.options import HowToRun, choose_device, limit_decoded_size
from casper.cli.sweep_progress import SweepDisplay, counts
from casper.config import ConfigError, RunConfig, flattened
from casper.config.options import MOST_THREADS
from casper.files import make_directory
from casper.formatting import counted, duration
from casper.reports.variants import written
from casper.runs import CheckpointEvery, Interruption, RunInterrupted, build_stream
from casper.runs.lock import lock_owner
from casper.runs.user_code import Outdated
from casper.sweeps import LocalLauncher, Sweep, SweepRun, cores, estimate
from casper.sweeps.sweep import TO_DO


def make_runs(configs: Sequence[RunConfig], out: Path, how: HowToRun) -> Sweep:
    """Execute runs and display their progress; returns them, done or failed.

    Raises:
        ConfigError: For an invalid option, and if the directory of the runs cannot be written.
        RunInterrupted: After a signal to stop; the same command resumes.
    """
    every = CheckpointEvery.parse(how.checkpoint_every)
    for name in ("jobs", "threads"):
        number = getattr(how, name)
        if number is not None and not 1 <= number <= MOST_THREADS:
            raise ConfigError(f"--{name} must be in [1, {MOST_THREADS}], but got {number}")
    device, data_dir = choose_device(how.device), None if how.data_dir is None else str(how.data_dir)
    limit_decoded_size(how.max_decoded_size)
    usual = torch.cuda.device_count() if device == "cuda" else cores()
    launcher = LocalLauncher(how.jobs or usual, device=device, threads=how.threads)
    after = {"keep_checkpoints": how.keep_checkpoints, "analyse": how.analyse}
    redo: list[Outdated] = ["stale", "unrecorded", "other"] if how.overwrite else ["stale"] if how.rerun_stale else []
    runs = Sweep(configs, out, data_dir=data_dir, checkpoint_every=every, redo=redo, **after)
    left = runs.having(*TO_DO)
    if how.dry_run:
        differences = telling_apart(configs)
        for run in runs.runs:
            parts = (f"{run.state:<10} {run.config.name}", differences[run.config.name], _remark(run))
            say("  ".join(filter(None, parts)))
    elif left:
        check_writable(out)
    threads = counted(launcher.threads, "thread")
    say(f"{counts(runs.runs)}; in {out}, {launcher.slots} at a time with {threads} each")
    for run in runs.having("failed"):
        warn(run.reason)
    for line in _outdated_lines(runs.runs):
        say(line)
    if how.dry_run or not left:
        return runs
    seconds = estimate(runs.runs, launcher.slots) if how.estimated else None
    if seconds is not None:
        say(f"estimated time: about {duration(seconds)}, from the finished runs")
    _compute_features([run.config for run in left], device, data_dir, launcher.threads * launcher.slots)
    interruption = Interruption("the active runs finish their step and write a checkpoint; once more to stop at once")
    try:
        with interruption.watched(), SweepDisplay(SafeConsole(), runs.runs) as display:
            runs.run(launcher, display.changed, interruption=interruption)
    except RunInterrupted as stop:
        text = f"{stop}; {counts(runs.runs)}; the same command resumes"
        raise RunInterrupted(stop.signal, text) from stop
    say(f"{counts(runs.runs)}; in {out}")
    if failed := len([run for run in left if run.state == "failed"]):
        complain(f"{counted(failed, 'run')} failed; the reasons are above, and in failure.json of each run")
    return runs


def _compute_features(configs: Sequence[RunConfig], device: str, data_dir: str | None, threads: int) -> None:
    """Compute the features of trunks first, with a progress bar, instead of within the runs that wait for them.

    Errors are left to the runs, which report them.
    """
    done = set()
    for config in configs:
        options = config.options
        # A class-incremental stream has the same images for every order of classes.
        split = options.class_order is not None
        which = options.model_dump(include={"stream", "image_size", "trunk", *(() if split else ("tasks", "seed"))})
        key = repr((which, options.validation is None, config.hyper.get(options.stream), config.hyper.get("trunk")))
        if options.trunk is not None and key not in done:
            torch.set_num_threads(threads)
            with suppress(Exception):
                build_stream(config, device=device, data_dir=data_dir)
            done.add(key)


def check_writable(out: Path) -> None:
    """Create a directory; raises `ConfigError` if it cannot be created or written."""
    try:
        make_directory(out)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise ConfigError(f"--out {out} cannot be written: {error.strerror or error}") from error


_MADE_BY = {
    "stale": "a class or a trunk of yours has changed since",
    "unrecorded": "made by an unknown version of your classes",
    "other": "made by another version of casper",
}


def _outdated_lines(runs: Sequence[SweepRun]) -> Iterator[str]:
    """List the runs that are stale, and count those that another version of casper made."""
    found: dict[str, list[SweepRun]] = {}
    for run in runs:
        if run.outdated and run.state != "outdated":
            found.setdefault(run.outdated, []).append(run)
    yield from (f"stale: {run.config.name}" for run in found.get("stale", ()))
    for why, several in found.items():
        option = "--rerun-stale" if why == "stale" else "--overwrite"
        yield f"note: {counted(len(several), 'run')}: {_MADE_BY[why]}; repeat with {option}"


def _remark(run: SweepRun) -> str:
    """Describe a run that is not done: the process that executes it, or why it is repeated or failed before."""
    if run.state == "outdated" and run.outdated:
        return _MADE_BY[run.outdated]
    if run.state in ("missing", "unfinished"):
        owner, failure = lock_owner(run.directory.path), run.directory.read_failure()
        return f"running: {owner}" if owner else f"failed before: {failure}" if failure else ""
    return run.reason


def telling_apart(configs: Sequence[RunConfig]) -> dict[str, str]:
    """Describe, for each run's name, the options in which it differs from runs whose name differs in the hash only.

    Hyper-parameters are left out if the options suffice, since other options often imply other published
    hyper-parameters. The text is empty if no other run has such a name.
    """
    alike: dict[str, list[RunConfig]] = {}
    for config in configs:
        alike.setdefault(config.name.rpartition("-")[0], []).append(config)
    texts = {}
    for group in alike.values():
        settings = [flattened(config.as_dict()) for config in group]
        keys = sorted({key for each in settings for key in each})
        differing = [key for key in keys if len({str(each.get(key)) for each in settings}) > 1]
        options = [key for key in differing if "." not in key]
        distinct = {tuple(str(each.get(key)) for key in options) for each in settings}
        named = options if len(distinct) == len(settings) else differing
        for config, each in zip(group, settings, strict=True):
            texts[config.name] = ", ".join(written({key: each.get(key) for key in named}))
    return texts
