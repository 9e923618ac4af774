"""When to write the checkpoints of a run."""

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
    """How often to write a checkpoint: every N seconds or steps, after every task, only at the end, or automatically.

    Example:
        >>> from casper.runs import CheckpointEvery
        >>> CheckpointEvery.parse("30s")
        CheckpointEvery(amount=30.0, unit='seconds')
    """

    amount: float
    unit: Literal["auto", "seconds", "steps", "task", "never"]

    @classmethod
    def parse(cls, text: str) -> "CheckpointEvery":
        """Parse `auto`, `30s`, `200steps`, `task` or `never`; raises `ConfigError`."""
        if text in ("auto", "task", "never"):
            return cls(0, text)  # type: ignore[arg-type]
        given = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)s|(\d{1,9})steps?", text)
        if given is None or (given[2] and int(given[2]) == 0):
            raise ConfigError(
                f"--checkpoint-every must be auto, task, never, or such as 30s or 200steps, but got {brief(text)}"
            )
        return cls(float(given[1]), "seconds") if given[1] else cls(int(given[2]), "steps")


USUAL = CheckpointEvery(0, "auto")
_LEAST, _MOST, _SHARE = 30.0, 60.0, 0.02


def usual_pause(seconds_to_save: float) -> float:
    """Return the seconds between two checkpoints: 30, or up to 60 if writing would take more than 2 % of the time.

    A crash then loses at most that much work, and the current unit of work: a step, or a pass over a few hundred
    images, at most those of the memory (`PieceDone`).
    """
    return min(max(_LEAST, seconds_to_save / _SHARE), _MOST)


class Checkpointer:
    """A listener that saves checkpoints of a run when they are due, and when a stop is requested."""

    def __init__(
        self,
        save: Callable[[], None],
        every: CheckpointEvery,
        interruption: Interruption | None = None,
        keep: Callable[[int], None] | None = None,
    ) -> None:
        """Start the clock.

        Args:
            save: Writes the latest checkpoint.
            every: How often to write it.
            interruption: Handles the signals that request a stop.
            keep: Writes a permanent checkpoint after a task, given the number of tasks learned. Default: none is
                written.
        """
        self.save, self.every, self.interruption, self.keep = save, every, interruption, keep
        self._saved, self._took, self._steps = time.monotonic(), 0.0, 0

    def listen(self, event: Event) -> None:
        """Handle an event; it is sent only when the state of the trainer is complete."""
        self._steps += isinstance(event, StepDone)
        # Before the latest checkpoint: a run that is resumed from that one would not write the permanent one.
        if self.keep is not None and isinstance(event, TaskDone):
            self.keep(event.task + 1)
        stop = None if self.interruption is None else self.interruption.signal
        if stop is not None or self._due(event):
            started = time.monotonic()
            self.save()
            self._saved, self._steps = time.monotonic(), 0
            self._took = self._saved - started
        if stop is not None:
            raise RunInterrupted(stop, "stopped")

    def _due(self, event: Event) -> bool:
        if self.every.unit in ("auto", "seconds"):
            pause = usual_pause(self._took) if self.every.unit == "auto" else self.every.amount
            return time.monotonic() - self._saved >= pause
        if self.every.unit == "steps":
            return self._steps >= self.every.amount
        return self.every.unit == "task" and isinstance(event, TaskDone)
