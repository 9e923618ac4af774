"""Launchers start the runs of a sweep: the interface, and an implementation with local processes."""

import multiprocessing
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import torch

from casper._repr import ShowsSettings
from casper.config import ConfigError, RunConfig
from casper.errors import DataError, NonFiniteLossError
from casper.files import UnsafeFileError
from casper.runs import (
    USUAL,
    CheckpointEvery,
    Interruption,
    RunDirectory,
    RunInterrupted,
    RunStoppedError,
    analyse_run,
    execute,
)
from casper.runs.directory import kept_checkpoints, lost_options
from casper.runs.lock import RunInUseError
from casper.runs.user_code import Outdated, outdated, user_code


@dataclass(frozen=True)
class Job:
    """A run to start or resume.

    Attributes:
        config: The configuration of the run.
        directory: The directory of the run.
        data_dir: The directory to search for data sets first.
        checkpoint_every: How often to write a checkpoint.
        keep_checkpoints: Whether to keep a checkpoint of every task end.
        analyse: Whether to analyse the latent space when the run is done.
        redo: The reasons for which the run in the directory is repeated; see `Sweep`. Default: it is resumed.

    Example:
        >>> from pathlib import Path
        >>> from casper.config import resolve_config
        >>> from casper.sweeps import Job
        >>> job = Job(resolve_config({"method": "er"}), Path("runs/er"))
        >>> job.config.options.method, job.analyse
        ('er', False)
    """

    config: RunConfig
    directory: Path
    data_dir: str | None = None
    checkpoint_every: CheckpointEvery = USUAL
    keep_checkpoints: bool = False
    analyse: bool = False
    redo: tuple[Outdated, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes:
        kind: `done`: the result is in the run's directory. `failed`: the run raised an error. `stopped`: it was
            stopped on request, and can be resumed. `busy`: another process is executing it.
        reason: The reason, or warnings for the user; one line.

    Example:
        >>> from casper.sweeps import Outcome
        >>> Outcome("failed", "the disk is full").kind
        'failed'
    """

    kind: Literal["done", "failed", "stopped", "busy"]
    reason: str = ""


class LaunchedRun(ABC):
    """A run that a launcher has started.

    Example:
        >>> from casper.sweeps import LaunchedRun, Outcome
        >>> class FinishedAtOnce(LaunchedRun):
        ...     def outcome(self):
        ...         return Outcome("done")
        ...     def stop(self):
        ...         pass
        >>> FinishedAtOnce().outcome()
        Outcome(kind='done', reason='')
    """

    @abstractmethod
    def outcome(self) -> Outcome | None:
        """Return how the run ended, without waiting. Returns None if it is still running."""

    @abstractmethod
    def stop(self) -> None:
        """Request the run to stop after writing a checkpoint; does not wait for it."""


class Launcher(ShowsSettings, ABC):
    """Start runs, at most `slots` at a time. Subclass it to execute a sweep on a cluster.

    Example:
        >>> from casper.sweeps import Launcher, LocalLauncher
        >>> class Announced(Launcher):
        ...     slots = 1
        ...     def launch(self, job, slot):
        ...         print("starting", job.directory.name)
        ...         return LocalLauncher(1).launch(job, slot)
        >>> Announced().slots
        1
    """

    slots: int

    @abstractmethod
    def launch(self, job: Job, slot: int) -> LaunchedRun:
        """Start a run in a free slot, and return without waiting for it."""


# Errors with a message for the user. Any other error is a bug, and is reported with its class.
_EXPLAINED = (ConfigError, DataError, NonFiniteLossError, RunStoppedError, UnsafeFileError)


class LocalLauncher(Launcher):
    """Start every run in a local process. The processes end when the process that started them ends, even by a crash.

    Example:
        >>> from casper.sweeps import LocalLauncher
        >>> launcher = LocalLauncher(2, threads=1)
        >>> launcher.slots, launcher.threads
        (2, 1)
    """

    def __init__(self, jobs: int, *, device: str = "cpu", threads: int | None = None) -> None:
        """Divide the machine among the runs.

        Args:
            jobs: The number of runs at a time.
            device: The device of the runs; with `"cuda"` they are distributed over all GPUs.
            threads: CPU threads per run. Default: an equal share of the cores, at least 1.
        """
        self.slots = jobs
        self.threads = threads or max(1, cores() // jobs)
        self._device = device
        self._context = multiprocessing.get_context("spawn")

    def launch(self, job: Job, slot: int) -> LaunchedRun:
        """Start the process of a run."""
        reader, writer = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_work, args=(job, self._device_of(slot), self.threads, writer))
        with _block_sigint_in_children():
            process.start()
        writer.close()
        return _LocalRun(process, reader)

    def _device_of(self, slot: int) -> str:
        return f"cuda:{slot % torch.cuda.device_count()}" if self._device == "cuda" else self._device


@contextmanager
def _block_sigint_in_children() -> Iterator[None]:
    """Start processes with SIGINT and SIGHUP blocked: a terminal sends them to all, and the sweep handles them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Blocked signals are inherited; here they only wait for the end of this block.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _LocalRun(LaunchedRun):
    def __init__(self, process: Any, reader: Connection) -> None:
        self._process, self._reader = process, reader
        self._stop_requested = False

    def outcome(self) -> Outcome | None:
        if self._process.is_alive():
            return None
        self._process.join()
        try:
            return self._reader.recv() if self._reader.poll() else self._unexplained()
        except (EOFError, OSError):  # the process ended before, or while, it sent its outcome
            return self._unexplained()
        finally:
            self._reader.close()

    def stop(self) -> None:
        self._stop_requested = True
        self._process.terminate()

    def _unexplained(self) -> Outcome:
        """Return the outcome of a process that ended without sending one."""
        code = self._process.exitcode
        # SIGTERM kills the process before it handles signals, and during the analysis.
        if self._stop_requested and code == -signal.SIGTERM:
            return Outcome("stopped", "stopped before it could report its progress")
        if code >= 0:
            return Outcome("failed", f"its process ended with status {code} and without a message")
        name = signal.Signals(-code).name if -code in {*signal.Signals} else f"signal {-code}"
        hint = ", possibly because memory ran out" if name == "SIGKILL" else ""
        return Outcome("failed", f"its process was killed by {name}{hint}")


def cores() -> int:
    """Return the number of CPU cores that this process may use.

    Example:
        >>> from casper.sweeps import cores
        >>> cores() >= 1
        True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _work(job: Job, device: str, threads: int, writer: Connection) -> None:
    """Execute one run in a new process, and send its outcome."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on systems that cannot block it: the sweep handles Ctrl-C
    threading.Thread(target=_stop_when_alone, daemon=True).start()
    torch.set_num_threads(_threads_before(job) or threads)
    with suppress(OSError):  # the process that reads it is gone
        writer.send(_outcome(job, device))


def _threads_before(job: Job) -> int | None:
    """Return the number of threads that a run was started with: resumed with another, its results would differ."""
    if job.redo:
        return None
    before = RunDirectory(job.directory).read_environment()
    return None if "threads" in lost_options(before) else before["threads"]


def _outcome(job: Job, device: str) -> Outcome:
    warnings: list[str] = []
    run = RunDirectory(job.directory)
    try:
        overwrite = bool(job.redo) and outdated(run, user_code(job.config)) in job.redo
        if overwrite or run.state() != "finished":  # another process may have finished it in the meantime
            execute(
                job.config,
                job.directory,
                device=device,
                data_dir=job.data_dir,
                overwrite=overwrite,
                checkpoint_every=job.checkpoint_every,
                keep_checkpoints=job.keep_checkpoints,
                analyse=job.analyse,
                interruption=Interruption(message=""),
                warn=warnings.append,
            )
        if job.analyse and not run.analysis.exists():
            if not kept_checkpoints(run.path):
                missing = "is finished and has no checkpoints of its task ends"
                raise ConfigError(f"{run.path} {missing}; to analyse it, run it again in another --out")
            keep = job.keep_checkpoints or run.read_environment().get("keep_checkpoints") is True
            analyse_run(run, device=device, data_dir=job.data_dir, keep_checkpoints=keep, warn=warnings.append)
    except RunInUseError as error:
        return Outcome("busy", str(error))
    except RunInterrupted as stop:
        return Outcome("stopped", str(stop))
    except _EXPLAINED as error:
        return Outcome("failed", " ".join(str(error).split()))
    except Exception as error:
        return Outcome("failed", " ".join(f"{type(error).__name__}: {error}".split()))
    return Outcome("done", "; ".join(warnings))


def _stop_when_alone() -> None:
    """Stop this run when the process that started it is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
