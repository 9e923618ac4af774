"""Many runs in one directory: what is missing is made, what is unfinished goes on, what is done stays."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, Literal

from casper._repr import ShowsSettings
from casper.config import ConfigError, RunConfig
from casper.config.options import layout_hash
from casper.runs import USUAL, CheckpointEvery, Interruption, RunDirectory, RunInterrupted
from casper.runs.lock import lock_owner
from casper.runs.results import look_up
from casper.sweeps.launcher import Job, LaunchedRun, Launcher

# unfinished: begun, and not under way. elsewhere: another process is making it.
State = Literal["missing", "unfinished", "running", "elsewhere", "done", "failed"]
_TICK = 0.2
_PATIENCE = 10.0  # seconds until a run that another process is making is looked at again


@dataclass
class SweepRun:
    """One run of a sweep.

    Attributes:
        config: What to run.
        directory: Where.
        state: How far it is.
        reason: Why it failed or has to wait, or what the user should know of it; one line.
        metrics: Its result, when it is done.
        earlier: Whether it was done before this sweep began.
        analysed: Whether it is done only when its latent space has been looked into.
    """

    config: RunConfig
    directory: RunDirectory
    state: State = "missing"
    reason: str = ""
    metrics: dict[str, Any] | None = None
    earlier: bool = False
    analysed: bool = False

    def look(self) -> None:
        """See how far it is, from its files; what cannot be read has failed, and is left as it is."""
        try:
            found = self.directory.state()
            if found == "empty":
                self.state = "missing"
            elif layout_hash(self.directory.read_layout()) != self.config.hash:
                raise ConfigError(f"run directory {self.directory.path} holds another run than its name says")
            elif found == "unfinished" or (self.analysed and not self.directory.analysis.exists()):
                self.state = "unfinished"
            else:
                self.metrics, self.state, self.reason = self.directory.read_metrics(), "done", ""
        except ConfigError as error:
            self.state, self.reason = "failed", str(error)

    def fail(self, reason: str) -> None:
        """Record that it cannot be made."""
        self.state, self.reason = "failed", reason
        try:
            self.directory.write_failure(reason)
        except OSError as error:
            self.reason += f"; that could not be recorded: {error.strerror}"


class Sweep(ShowsSettings):
    """The runs of a sweep, each in a directory that is named by its configuration's hash.

    Nothing is kept but the runs' own directories: whoever starts the same sweep again, or another one that shares some
    of its runs, goes on from what is there. Several processes may work on one directory at the same time.
    """

    def __init__(
        self,
        configs: Sequence[RunConfig],
        out: Path,
        *,
        data_dir: str | None = None,
        checkpoint_every: CheckpointEvery = USUAL,
        keep_checkpoints: bool = False,
        analyse: bool = False,
    ) -> None:
        """Look at what is there.

        Args:
            configs: What to run.
            out: Where the runs' directories are, or will be.
            data_dir: Where data sets are looked for first.
            checkpoint_every: How often a run's state is written.
            keep_checkpoints: Whether the state after every task stays.
            analyse: Whether the latent space of every run is looked into when it is done.

        Raises:
            ConfigError: If no directory can be there.
        """
        found = next(place for place in (out.absolute(), *out.absolute().parents) if place.exists())
        if not found.is_dir():
            raise ConfigError(f"--out {out} must be a directory, there or to be made, but got the file {found.name}")
        self.out = out
        self.runs = [SweepRun(config, RunDirectory(out / config.name), analysed=analyse) for config in configs]
        self._how = (data_dir, checkpoint_every, keep_checkpoints, analyse)
        for run in self.runs:
            run.look()
            run.earlier = run.state == "done"

    def having(self, *states: State) -> list[SweepRun]:
        """List the runs in one of some states."""
        return [run for run in self.runs if run.state in states]

    def run(
        self,
        launcher: Launcher,
        changed: Callable[[SweepRun], None] = lambda _: None,
        interruption: Interruption | None = None,
    ) -> None:
        """Make every run that is not done; one that fails does not stop the others.

        Args:
            launcher: Starts them.
            changed: Told of a run whenever its state has changed.
            interruption: Whoever was asked to stop; the runs under way are then asked to.

        Raises:
            RunInterrupted: When the runs under way have stopped, after a signal.
        """
        waiting = self.having("missing", "unfinished")
        later: list[tuple[float, SweepRun]] = []
        under_way: dict[int, tuple[SweepRun, LaunchedRun]] = {}
        asked: set[int] = set()
        try:
            while waiting or later or under_way:
                if interruption is not None and interruption.signal is not None:
                    waiting, later = [], []
                    self._stop([under_way[slot][1] for slot in under_way.keys() - asked])
                    asked = set(under_way)
                for slot in range(launcher.slots):
                    if slot in under_way and self._ended(*under_way[slot], later):
                        changed(under_way.pop(slot)[0])
                    if slot not in under_way and waiting:
                        run = waiting.pop(0)
                        try:
                            under_way[slot] = run, self._launch(run, launcher, slot)
                        except OSError as error:
                            run.fail(f"it could not be started: {error.strerror or error}")
                        changed(run)
                now = time.monotonic()
                due, later = [run for at, run in later if at <= now], [(at, run) for at, run in later if at > now]
                for run in due:
                    self._look_again(run, waiting, later)
                    if run.state in ("done", "failed"):
                        changed(run)
                time.sleep(_TICK)
        except BaseException:
            self._stop([launched for _, launched in under_way.values()])
            raise
        if interruption is not None and interruption.signal is not None:
            raise RunInterrupted(interruption.signal, "stopped")

    def _stop(self, runs: Sequence[LaunchedRun]) -> None:
        for launched in runs:
            launched.stop()

    def _launch(self, run: SweepRun, launcher: Launcher, slot: int) -> LaunchedRun:
        run.directory.write_failure(None)
        run.state, run.reason = "running", ""
        return launcher.launch(Job(run.config, run.directory.path, *self._how), slot)

    def _look_again(self, run: SweepRun, waiting: list[SweepRun], later: list[tuple[float, SweepRun]]) -> None:
        """See what has become of a run that another process was making."""
        run.look()
        if run.state != "done" and lock_owner(run.directory.path):
            run.state = "elsewhere"
            later.append((time.monotonic() + _PATIENCE, run))
        elif run.state in ("missing", "unfinished"):
            waiting.append(run)

    def _ended(self, run: SweepRun, launched: LaunchedRun, later: list[tuple[float, SweepRun]]) -> bool:
        """Tell whether a run has ended, and take down how."""
        outcome = launched.outcome()
        if outcome is None:
            return False
        if outcome.kind == "busy":
            run.state, run.reason = "elsewhere", outcome.reason
            later.append((time.monotonic() + _PATIENCE, run))
        elif outcome.kind == "stopped":
            run.state, run.reason = "unfinished", outcome.reason
        else:
            run.look()  # whatever its process said last: what is finished is done
            if run.state == "done" and outcome.kind == "done":
                run.reason = outcome.reason
            elif run.state in ("missing", "unfinished"):
                run.fail(outcome.reason or "its process ended, and left no result")
        return True


# What sets two runs apart and hardly changes how long they take.
_COSTS_NO_TIME = {"seed", "lr", "milestones", "gamma", "class_order"}


def estimate(runs: Sequence[SweepRun], slots: int) -> float | None:
    """Estimate how long the runs that are left take, from the finished ones.

    Args:
        runs: The runs of a sweep.
        slots: How many are made at a time.

    Returns:
        Seconds: each run takes as long as the finished runs like it, or as all of them; None if none is finished.
    """
    known: dict[str, list[float]] = {}
    for run in runs:
        took = look_up(run.metrics or {}, "seconds.total")
        if took is not None:
            known.setdefault(_kind(run.config), []).append(took)
    if not known:
        return None
    left = [run.config for run in runs if run.state in ("missing", "unfinished")]
    usual = mean(seconds for several in known.values() for seconds in several)
    total = sum(mean(known.get(_kind(config), [usual])) for config in left)
    return total / min(slots, max(1, len(left)))


def _kind(config: RunConfig) -> str:
    """Tell runs apart that take different times; hyper-parameters, but the backbone's, do not."""
    options = config.options.model_dump(exclude=_COSTS_NO_TIME)
    return repr((sorted(options.items()), sorted(config.hyper.get("backbone", {}).items())))
