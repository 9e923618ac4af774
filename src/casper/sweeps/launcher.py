"""Where the runs of a sweep are made: one interface, whatever is behind it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from casper.config import RunConfig
from casper.runs import USUAL, CheckpointEvery


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


class Launcher(ABC):
    """Starts runs, at most `slots` at a time."""

    slots: int

    @abstractmethod
    def launch(self, job: Job, slot: int) -> LaunchedRun:
        """Start a run in a slot that is free; returns at once."""
