"""When a run writes checkpoints."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from casper.config.errors import ConfigError, brief
from casper.runs.signals import Interruption, RunInterrupted
from casper.training.events import Event, StepDone, TaskDone


@dataclass(frozen=True)
class CheckpointEvery:
    """How often: every so many seconds or steps, after every task, never before the end, or as is usual."""

    amount: float
    unit: Literal["auto", "seconds", "steps", "task", "never"]

    @classmethod
    def parse(cls, text: str) -> "CheckpointEvery":
        """Read `auto`, `30s`, `200steps`, `task` or `never`."""
        if text in ("auto", "task", "never"):
            return cls(0, text)  # type: ignore[arg-type]
        given = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)s|(\d{1,9})steps?", text)
        if given is None or (given[2] and int(given[2]) == 0):
            raise ConfigError(
                f"--checkpoint-every must be auto, task, never or like 30s, 200steps, but got {brief(text)}"
            )
        return cls(float(given[1]), "seconds") if given[1] else cls(int(given[2]), "steps")


USUAL = CheckpointEvery(0, "auto")
_LEAST, _MOST, _SHARE = 30.0, 60.0, 0.02


def usual_pause(seconds_to_save: float) -> float:
    """Choose the seconds between two checkpoints: 30, or as many as make the cost 2 % of the time, at most 60.

    A crash then costs that much, and what was under way: a step, or a pass of a few hundred images, at most those of
    the memory (`PieceDone`).
    """
    return min(max(_LEAST, seconds_to_save / _SHARE), _MOST)


class Checkpointer:
    """Listens to a run and has its state saved when it is time, and when it is asked to stop."""

    def __init__(
        self,
        save: Callable[[], None],
        every: CheckpointEvery,
        interruption: Interruption | None = None,
        keep: Callable[[int], None] | None = None,
    ) -> None:
        """Set up the clock.

        Args:
            save: Writes the state.
            every: How often.
            interruption: Takes the signals that ask to stop.
            keep: Writes the state after a task, given how many were learnt, where it stays. Default: none is kept.
        """
        self.save, self.every, self.interruption, self.keep = save, every, interruption, keep
        self._saved, self._took, self._steps = time.monotonic(), 0.0, 0

    def listen(self, event: Event) -> None:
        """Take an event in; the state is complete."""
        self._steps += isinstance(event, StepDone)
        if self.keep is not None and isinstance(event, TaskDone):  # first: what is saved after it must not come without
            self.keep(event.task + 1)
        asked = None if self.interruption is None else self.interruption.signal
        if asked is not None or self._due(event):
            started = time.monotonic()
            self.save()
            self._saved, self._steps = time.monotonic(), 0
            self._took = self._saved - started
        if asked is not None:
            raise RunInterrupted(asked, "stopped")

    def _due(self, event: Event) -> bool:
        if self.every.unit in ("auto", "seconds"):
            pause = usual_pause(self._took) if self.every.unit == "auto" else self.every.amount
            return time.monotonic() - self._saved >= pause
        if self.every.unit == "steps":
            return self._steps >= self.every.amount
        return self.every.unit == "task" and isinstance(event, TaskDone)
