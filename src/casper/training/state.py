"""Where in its stream a run is, and how long it has taken to get there."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from torch import Tensor

from casper._repr import ShowsSettings

# untrained: the network is tested before the first task. next: the phase has not begun; after the last one the latent
# space is measured. training: its task has been started. testing: its task has been closed.
Stage = Literal["untrained", "next", "training", "testing"]


@dataclass(repr=False)
class Position(ShowsSettings):
    """The counters of a run, complete whenever the trainer tells an event.

    Attributes:
        phase: The phase of training; those before it are done.
        stage: What is under way.
        images: The size of the phase's training set.
        checksum: Of the phase's training set: to go on with other images would be another run.
        steps_per_epoch: The number of steps in an epoch of the phase.
        step: The number of steps made in the phase.
        order: The order of the training set in the present epoch, shape (images,).
        tested: The number of test sets done in the present stage.
    """

    phase: int = 0
    stage: Stage = "untrained"
    images: int = 0
    checksum: str = ""
    steps_per_epoch: int = 0
    step: int = 0
    order: Tensor | None = None
    tested: int = 0

    def __post_init__(self) -> None:
        counters = (self.phase, self.images, self.steps_per_epoch, self.step, self.tested)
        if not all(isinstance(value, int) and value >= 0 for value in counters) or self.stage not in get_args(Stage):
            raise ValueError(f"a position must be counters from 0, but got {self.stage!r}, {counters}")

    @classmethod
    def before(cls, phase: int) -> "Position":
        """Stand before a phase."""
        return cls(phase, "next")

    def state_dict(self) -> dict[str, Any]:
        """Return all counters."""
        return dict(vars(self))

    def __str__(self) -> str:
        sets = f"{self.tested} test set" + "s" * (self.tested != 1)
        if self.stage == "untrained":
            return f"before task 1, {sets} done"
        if self.stage == "next":
            features = f", features of {sets} computed" if self.tested else ""
            return f"after task {self.phase}{features}" if self.phase else "before task 1"
        if self.stage == "testing":
            return f"task {self.phase + 1}, all steps made, {sets} done"
        return f"task {self.phase + 1}, " + (f"after step {self.step}" if self.step else "before its first step")


class Stopwatch:
    """The seconds spent on each kind of work.

    Attributes:
        run: Since the run began, however often it was stopped.
        task: Since the present task began.
    """

    def __init__(self) -> None:
        self.run = {"train": 0.0, "evaluate": 0.0}
        self.task = dict.fromkeys(self.run, 0.0)
        self.restart()

    def restart(self) -> None:
        """Forget the time since the last call of `add`."""
        self._last = time.perf_counter()

    def add(self, kind: str) -> None:
        """Count the time since the last call as spent on a kind of work."""
        now = time.perf_counter()
        self.run[kind] += now - self._last
        self.task[kind] += now - self._last
        self._last = now

    def start_task(self) -> None:
        """Count a task's seconds from zero."""
        self.task = dict.fromkeys(self.run, 0.0)

    def state_dict(self) -> dict[str, dict[str, float]]:
        """Return both counts."""
        return {"run": dict(self.run), "task": dict(self.task)}

    def load_state_dict(self, state: Mapping[str, Mapping[str, float]]) -> None:
        """Continue from a state."""
        self.run, self.task = dict(state["run"]), dict(state["task"])
