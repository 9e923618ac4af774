"""When a run writes checkpoints."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from casper.experiments.errors import ConfigError, brief
from casper.experiments.interruption import Interruption, RunInterrupted
from casper.training import Event, StepDone, TaskDone


@dataclass(frozen=True)
class CheckpointEvery:
    """How often: every so many seconds or steps, after every task, or never before the end."""

    amount: float
    unit: Literal["seconds", "steps", "task", "never"]

    @classmethod
    def parse(cls, text: str) -> "CheckpointEvery":
        """Read `30s`, `200steps`, `task` or `never`."""
        if text in ("task", "never"):
            return cls(0, text)  # type: ignore[arg-type]
        given = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)s|(\d{1,9})steps?", text)
        if given is None or (given[2] and int(given[2]) == 0):
            raise ConfigError(f"--checkpoint-every should be like 30s, 200steps, task or never; found {brief(text)}")
        return cls(float(given[1]), "seconds") if given[1] else cls(int(given[2]), "steps")


# A crash then costs half a minute and the unit of work under way: a step, a task's end, a test set. A checkpoint of
# 160 MB takes about 0.4 s to write (measured), which is just over 1 % of it.
USUAL = CheckpointEvery(30, "seconds")


class Checkpointer:
    """Listens to a run and has its state saved when it is time, and when it is asked to stop."""

    def __init__(
        self, save: Callable[[], None], every: CheckpointEvery, interruption: Interruption | None = None
    ) -> None:
        self.save, self.every, self.interruption = save, every, interruption
        self._saved, self._steps = time.monotonic(), 0

    def listen(self, event: Event) -> None:
        """Take an event in; the state is complete."""
        self._steps += isinstance(event, StepDone)
        asked = None if self.interruption is None else self.interruption.signal
        if asked is not None or self._due(event):
            self.save()
            self._saved, self._steps = time.monotonic(), 0
        if asked is not None:
            raise RunInterrupted(asked, "stopped")

    def _due(self, event: Event) -> bool:
        if self.every.unit == "seconds":
            return time.monotonic() - self._saved >= self.every.amount
        if self.every.unit == "steps":
            return self._steps >= self.every.amount
        return self.every.unit == "task" and isinstance(event, TaskDone)
