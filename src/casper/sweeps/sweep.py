"""Many runs in one directory: missing runs are started, unfinished ones resumed, finished ones left as they are."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, Literal

from casper._repr import ShowsSettings
from casper.config import ConfigError, RunConfig
from casper.config.options import layout_hash
from casper.config.registry import parts_with_code
from casper.runs import USUAL, CheckpointEvery, Interruption, RunDirectory, RunInterrupted
from casper.runs.lock import lock_owner
from casper.runs.results import look_up
from casper.runs.user_code import Outdated, UserCode, outdated, user_code
from casper.sweeps.launcher import Job, LaunchedRun, Launcher

# unfinished: started, but not running now. outdated: made by other code, and to be repeated. elsewhere: another process
# is executing it.
State = Literal["missing", "unfinished", "outdated", "running", "elsewhere", "done", "failed"]
TO_DO: tuple[State, ...] = ("missing", "unfinished", "outdated")
_TICK = 0.2
_PATIENCE = 10.0  # seconds between two checks of a run that another process is executing


@dataclass
class SweepRun:
    """One run of a sweep.

    Attributes:
        config: The configuration of the run.
        directory: The directory of the run.
        state: The state of the run.
        reason: Why the run failed or has to wait, or warnings for the user; one line.
        metrics: The result of the run, when it is done.
        earlier: Whether the run was done before this sweep started.
        analysed: Whether the run counts as done only after the analysis of its latent space.
        outdated: Why the code behind the run is not the present one; None if it is, or there is no run yet.

    Example:
        >>> from pathlib import Path
        >>> from casper.config import resolve_config
        >>> from casper.runs import RunDirectory
        >>> from casper.sweeps import SweepRun
        >>> SweepRun(resolve_config({"method": "er"}), RunDirectory(Path("runs/er"))).state
        'missing'
    """

    config: RunConfig
    directory: RunDirectory
    state: State = "missing"
    reason: str = ""
    metrics: dict[str, Any] | None = None
    earlier: bool = False
    analysed: bool = False
    outdated: Outdated | None = None

    def look(self, code: UserCode, redo: Collection[Outdated] = ()) -> None:
        """Update the state from the files of the run. A run whose files cannot be read has failed.

        Args:
            code: The user's classes of the run, with their present digests.
            redo: Which outdated runs are to be repeated.
        """
        self.outdated = None
        try:
            found = self.directory.state()
            if found == "empty":
                self.state = "missing"
            elif layout_hash(self.directory.read_layout()) != self.config.hash:
                raise ConfigError(f"run directory {self.directory.path} contains another run than its name says")
            elif (why := outdated(self.directory, code)) in redo:
                self.state, self.outdated = "outdated", why
            elif found == "unfinished" or (self.analysed and not self.directory.analysis.exists()):
                self.state, self.outdated = "unfinished", why
            else:
                self.metrics, self.state, self.reason = self.directory.read_metrics(), "done", ""
                self.outdated = why
        except ConfigError as error:
            self.state, self.reason = "failed", str(error)

    def fail(self, reason: str) -> None:
        """Record that the run failed."""
        self.state, self.reason = "failed", reason
        try:
            self.directory.write_failure(reason)
        except OSError as error:
            self.reason += f"; this could not be recorded: {error.strerror}"


class Sweep(ShowsSettings):
    """The runs of a sweep, each in a directory that is named after its configuration.

    The directories of the runs are the only state. The same sweep started again, or another sweep that shares some of
    its runs, continues from them. Several processes may work on one directory at the same time.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from casper.sweeps import LocalLauncher, Sweep, expand
        >>> configs = expand({"method": "er", "epochs": 1, "grid": {"seed": [0, 1]}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sweep = Sweep(configs, Path(folder))
        ...     sweep.run(LocalLauncher(2))
        ...     [run.state for run in sweep.runs]
        ['done', 'done']
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
        redo: Collection[Outdated] = (),
    ) -> None:
        """Read the state of every run.

        Args:
            configs: The configurations of the runs.
            out: The directory of the sweep, in which every run has a directory.
            data_dir: The directory to search for data sets first.
            checkpoint_every: How often a run writes a checkpoint.
            keep_checkpoints: Whether to keep a checkpoint of every task end.
            analyse: Whether to analyse the latent space of every run when it is done.
            redo: Which runs to repeat: `stale` ones, of which the user's own code has changed; `unrecorded` ones, which
                do not say by which user code they were made; those that an `other` version of casper made.

        Raises:
            ConfigError: If `out` is, or is below, a file, or the directory of a run is a symbolic link.
        """
        found = next(place for place in (out.absolute(), *out.absolute().parents) if place.exists())
        if not found.is_dir():
            raise ConfigError(f"--out {out} must be a directory, or a path for a new one, but {found.name} is a file")
        self.out = out
        self.runs = [SweepRun(config, RunDirectory.named(out, config), analysed=analyse) for config in configs]
        self._redo = tuple(redo)
        self._how = (data_dir, checkpoint_every, keep_checkpoints, analyse)
        known: dict[tuple[str, ...], UserCode] = {}
        for run in self.runs:
            parts = tuple(name for _, name in parts_with_code(run.config.options.model_dump()))
            if parts not in known:
                known[parts] = user_code(run.config)
            run.look(known[parts], self._redo)
            run.earlier = run.state == "done"

    def having(self, *states: State) -> list[SweepRun]:
        """List the runs that are in one of the given states."""
        return [run for run in self.runs if run.state in states]

    def run(
        self,
        launcher: Launcher,
        changed: Callable[[SweepRun], None] = lambda _: None,
        interruption: Interruption | None = None,
    ) -> None:
        """Execute every run that is not done; the others continue if one fails.

        Args:
            launcher: Starts the runs.
            changed: Called with a run whenever its state has changed.
            interruption: Handles the signals that request a stop; the active runs are then stopped.

        Raises:
            RunInterrupted: After a signal, when the active runs have stopped.
        """
        waiting = self.having(*TO_DO)
        later: list[tuple[float, SweepRun]] = []
        active: dict[int, tuple[SweepRun, LaunchedRun]] = {}
        stopping: set[int] = set()
        try:
            while waiting or later or active:
                if interruption is not None and interruption.signal is not None:
                    waiting, later = [], []
                    self._stop([active[slot][1] for slot in active.keys() - stopping])
                    stopping = set(active)
                for slot in range(launcher.slots):
                    if slot in active and self._ended(*active[slot], later):
                        changed(active.pop(slot)[0])
                    if slot not in active and waiting:
                        run = waiting.pop(0)
                        try:
                            active[slot] = run, self._launch(run, launcher, slot)
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
            self._stop([launched for _, launched in active.values()])
            raise
        if interruption is not None and interruption.signal is not None:
            raise RunInterrupted(interruption.signal, "stopped")

    def _stop(self, runs: Sequence[LaunchedRun]) -> None:
        for launched in runs:
            launched.stop()

    def _launch(self, run: SweepRun, launcher: Launcher, slot: int) -> LaunchedRun:
        run.directory.write_failure(None)
        redo = self._redo if run.state == "outdated" else ()
        run.state, run.reason = "running", ""
        return launcher.launch(Job(run.config, run.directory.path, *self._how, redo), slot)

    def _look_again(self, run: SweepRun, waiting: list[SweepRun], later: list[tuple[float, SweepRun]]) -> None:
        """Check the state of a run that another process was executing."""
        run.look(user_code(run.config), self._redo)
        if run.state != "done" and lock_owner(run.directory.path):
            run.state = "elsewhere"
            later.append((time.monotonic() + _PATIENCE, run))
        elif run.state in TO_DO:
            waiting.append(run)

    def _ended(self, run: SweepRun, launched: LaunchedRun, later: list[tuple[float, SweepRun]]) -> bool:
        """Return whether a run has ended, and record its outcome."""
        outcome = launched.outcome()
        if outcome is None:
            return False
        if outcome.kind == "busy":
            run.state, run.reason = "elsewhere", outcome.reason
            later.append((time.monotonic() + _PATIENCE, run))
        elif outcome.kind == "stopped":
            run.state, run.reason = "unfinished", outcome.reason
        else:
            # A run whose result is written is done, whatever its process reported.
            run.look(user_code(run.config), self._redo)
            if run.state == "done" and outcome.kind == "done":
                run.reason = outcome.reason
            elif run.state in TO_DO:
                run.fail(outcome.reason or "its process ended without a result")
        return True


# Options that hardly change the duration of a run.
_COSTS_NO_TIME = {"seed", "lr", "milestones", "gamma", "class_order"}


def estimate(runs: Sequence[SweepRun], slots: int) -> float | None:
    """Estimate the remaining time of a sweep from its finished runs.

    Args:
        runs: The runs of a sweep.
        slots: The number of runs at a time.

    Returns:
        Seconds. The duration of a run is the mean over finished runs of the same kind, or over all finished runs if
        there are none of its kind. Returns None if no run is finished.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from casper.sweeps import Sweep, estimate, expand
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sweep = Sweep(expand({"grid": {"seed": [0, 1, 2]}}), Path(folder))
        >>> sweep.runs[0].state, sweep.runs[0].metrics = "done", {"seconds": {"total": 60.0}}
        >>> estimate(sweep.runs, slots=2)
        60.0
    """
    known: dict[str, list[float]] = {}
    for run in runs:
        took = look_up(run.metrics or {}, "seconds.total")
        if took is not None:
            known.setdefault(_kind(run.config), []).append(took)
    if not known:
        return None
    left = [run.config for run in runs if run.state in TO_DO]
    usual = mean(seconds for several in known.values() for seconds in several)
    total = sum(mean(known.get(_kind(config), [usual])) for config in left)
    return total / min(slots, max(1, len(left)))


def _kind(config: RunConfig) -> str:
    """Return a key that runs of about the same duration share; of the hyper-parameters only the backbone's count."""
    options = config.options.model_dump(exclude=_COSTS_NO_TIME)
    return repr((sorted(options.items()), sorted(config.hyper.get("backbone", {}).items())))
