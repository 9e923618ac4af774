"""Where the runs of a sweep are made: one interface, and processes of this machine behind it."""

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
from casper.runs.directory import kept_checkpoints
from casper.runs.lock import RunInUseError


@dataclass(frozen=True)
class Job:
    """One run that is to be made, or gone on with.

    Attributes:
        config: What to run.
        directory: The run's directory.
        data_dir: Where data sets are looked for first.
        checkpoint_every: How often its state is written.
        keep_checkpoints: Whether the state after every task stays.
        analyse: Whether its latent space is looked into when it is done.
    """

    config: RunConfig
    directory: Path
    data_dir: str | None = None
    checkpoint_every: CheckpointEvery = USUAL
    keep_checkpoints: bool = False
    analyse: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes:
        kind: `done`: its result is in its directory. `failed`: it cannot be made. `stopped`: it was asked to stop, and
            can go on. `busy`: somebody else is making it.
        reason: Why, or what the user should know of it; one line.
    """

    kind: Literal["done", "failed", "stopped", "busy"]
    reason: str = ""


class LaunchedRun(ABC):
    """A run that was started somewhere."""

    @abstractmethod
    def outcome(self) -> Outcome | None:
        """Tell how it ended, without waiting; None: it has not."""

    @abstractmethod
    def stop(self) -> None:
        """Ask it to stop where it can go on later; it ends soon, not at once."""


class Launcher(ShowsSettings, ABC):
    """Starts runs, at most `slots` at a time."""

    slots: int

    @abstractmethod
    def launch(self, job: Job, slot: int) -> LaunchedRun:
        """Start a run in a slot that is free; returns at once."""


# What a run may say of itself; anything else is a fault of the program, and named by its kind.
_EXPLAINED = (ConfigError, DataError, NonFiniteLossError, RunStoppedError)


class LocalLauncher(Launcher):
    """Starts a process for every run. They end with the process that started them, whatever becomes of it."""

    def __init__(self, jobs: int, *, device: str = "cpu", threads: int | None = None) -> None:
        """Divide the machine.

        Args:
            jobs: How many runs at a time.
            device: Where they compute; with `"cuda"` they are spread over all GPUs.
            threads: CPU threads of each. Default: its share of the cores, at least 1.
        """
        self.slots = jobs
        self.threads = threads or max(1, cores() // jobs)
        self._device = device
        self._context = multiprocessing.get_context("spawn")

    def launch(self, job: Job, slot: int) -> LaunchedRun:
        """Start the process."""
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
        self._asked = False

    def outcome(self) -> Outcome | None:
        if self._process.is_alive():
            return None
        self._process.join()
        try:
            return self._reader.recv() if self._reader.poll() else self._unexplained()
        except (EOFError, OSError):  # it was ended before, or while, it said so
            return self._unexplained()
        finally:
            self._reader.close()

    def stop(self) -> None:
        self._asked = True
        self._process.terminate()

    def _unexplained(self) -> Outcome:
        """Say by what a process ended that could not say it itself."""
        code = self._process.exitcode
        if (
            self._asked and code == -signal.SIGTERM
        ):  # before it could hear, or after it had done all but look into itself
            return Outcome("stopped", "stopped before it could say how far it was")
        if code >= 0:
            return Outcome("failed", f"its process ended with status {code} and without a word")
        name = signal.Signals(-code).name if -code in {*signal.Signals} else f"signal {-code}"
        hint = ", perhaps for want of memory" if name == "SIGKILL" else ""
        return Outcome("failed", f"its process was ended by {name}{hint}")


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _work(job: Job, device: str, threads: int, writer: Connection) -> None:
    """Make one run, in a process of its own, and say how it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it could not be kept from hearing: the sweep hears for it
    threading.Thread(target=_stop_when_alone, daemon=True).start()
    torch.set_num_threads(_threads_before(job) or threads)
    with suppress(OSError):  # nobody is there any more
        writer.send(_outcome(job, device))


def _threads_before(job: Job) -> int | None:
    """Find with how many threads a run was begun: with as many it goes on, for others would be other bits."""
    before = RunDirectory(job.directory).read_environment().get("threads")
    return before if isinstance(before, int) and before >= 1 else None


def _outcome(job: Job, device: str) -> Outcome:
    told: list[str] = []
    run = RunDirectory(job.directory)
    try:
        if run.state() != "finished":  # by somebody else, since this run was chosen
            execute(
                job.config,
                job.directory,
                device=device,
                data_dir=job.data_dir,
                checkpoint_every=job.checkpoint_every,
                keep_checkpoints=job.keep_checkpoints,
                analyse=job.analyse,
                interruption=Interruption(message=""),
                warn=told.append,
            )
        if job.analyse and not run.analysis.exists():
            if not kept_checkpoints(run.path):
                kept_none = "was finished before and kept no states of its task ends"
                raise ConfigError(f"{run.path} {kept_none}: make it anew in another --out to have it analysed")
            keep = job.keep_checkpoints or run.read_environment().get("keep_checkpoints") is True
            analyse_run(run, device=device, data_dir=job.data_dir, keep_checkpoints=keep, warn=told.append)
    except RunInUseError as error:
        return Outcome("busy", str(error))
    except RunInterrupted as stop:
        return Outcome("stopped", str(stop))
    except _EXPLAINED as error:
        return Outcome("failed", " ".join(str(error).split()))
    except Exception as error:
        return Outcome("failed", " ".join(f"{type(error).__name__}: {error}".split()))
    return Outcome("done", "; ".join(told))


def _stop_when_alone() -> None:
    """Stop this run, as if asked to, when the process that started it is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
