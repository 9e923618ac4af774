"""The position of a run in its stream, and the time spent so far."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from torch import Tensor

from casper._repr import ShowsSettings

# untrained: the network is tested before the first task. next: the phase has not started; after the last one the latent
# space is summarized. training: the task of the phase has started. testing: its training is done.
Stage = Literal["untrained", "next", "training", "testing"]


@dataclass(repr=False)
class Position(ShowsSettings):
    """The counters of a run, complete whenever the trainer sends an event.

    Attributes:
        phase: The current phase of training; the previous ones are done.
        stage: The current stage.
        images: The size of the training set of the phase.
        checksum: The checksum of that training set; a run cannot resume with other images.
        steps_per_epoch: The number of steps in an epoch of the phase.
        step: The number of steps done in the phase.
        order: The order of the training set in the current epoch, shape (images,).
        tested: The number of test sets done in the current stage.

    Example:
        >>> from casper.training import Position
        >>> print(Position(phase=1, stage="training", step=3))
        task 2, after step 3
        >>> print(Position.before(1))
        after task 1
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
            raise ValueError(f"a position must have a known stage and counters, but got {self.stage!r}, {counters}")

    @classmethod
    def before(cls, phase: int) -> "Position":
        """Create the position before a phase."""
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
            return f"task {self.phase + 1}, all steps done, {sets} done"
        return f"task {self.phase + 1}, " + (f"after step {self.step}" if self.step else "before its first step")


class Stopwatch:
    """The seconds spent on each kind of work.

    Attributes:
        run: Since the start of the run, across interruptions.
        task: Since the start of the current task.
    """

    def __init__(self) -> None:
        self.run = {"train": 0.0, "evaluate": 0.0}
        self.task = dict.fromkeys(self.run, 0.0)
        self.restart()

    def restart(self) -> None:
        """Discard the time since the last call of `add`."""
        self._last = time.perf_counter()

    def add(self, kind: str) -> None:
        """Add the time since the last call to a kind of work."""
        now = time.perf_counter()
        self.run[kind] += now - self._last
        self.task[kind] += now - self._last
        self._last = now

    def start_task(self) -> None:
        """Reset the seconds of the task."""
        self.task = dict.fromkeys(self.run, 0.0)

    def state_dict(self) -> dict[str, dict[str, float]]:
        """Return the seconds of the run and of the task."""
        return {"run": dict(self.run), "task": dict(self.task)}

    def load_state_dict(self, state: Mapping[str, Mapping[str, float]]) -> None:
        """Restore a state."""
        self.run, self.task = dict(state["run"]), dict(state["task"])
