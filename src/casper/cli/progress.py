"""Progress of a run: a live display on a terminal, plain lines elsewhere."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from casper.formatting import duration, printable
from casper.training.events import Event, RunStarted, SetTested, StepDone, TaskDone, TaskStarted

if TYPE_CHECKING:
    from torch import Tensor

# Weight of the latest step in the exponential moving average of the displayed losses.
_SMOOTHING = 0.1
# The duration of a run is estimated after this many steps or seconds, and printed if it exceeds `_LONG` seconds.
_FIRST_STEPS, _FIRST_SECONDS, _LONG = 20, 20.0, 600.0


class ProgressDisplay:
    """Listen to a trainer and display task, epoch, steps per second, time left, loss terms and accuracy so far."""

    def __init__(self, console: Console, title: str = "", hint: str = "") -> None:
        """Create the display; nothing is printed yet.

        Args:
            console: Where to print.
            title: Printed when the run starts.
            hint: Printed after the time estimate of a long run.
        """
        self.console = console
        self.hint = hint
        self._estimated = False
        self.title = title  # printed when the run has started, so that it never precedes an error message
        self._terms: dict[str, Tensor] = {}
        self._tested = self._accuracy = ""
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f}%  {task.fields[speed]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        self._bar = self._progress.add_task("starting", total=None, speed="")
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=8, transient=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def listen(self, event: Event) -> None:
        """Update the display for an event."""
        if isinstance(event, RunStarted):
            self._start_run(event)
        elif isinstance(event, TaskStarted):
            self._start_task(event)
        elif isinstance(event, StepDone):
            self._step(event)
        elif isinstance(event, SetTested):
            self._tested = f"testing {event.done}/{event.total}  " if event.done < event.total else ""
        elif isinstance(event, TaskDone):
            self._finish_task(event)

    def _start_run(self, event: RunStarted) -> None:
        for line in filter(None, (self.title, event.about)):
            safe = "\n".join(map(printable, line.splitlines()))
            self.console.print(safe, highlight=False, markup=False, soft_wrap=True)  # it may contain a path
        if self.console.is_terminal:
            self._live.start()

    def _start_task(self, event: TaskStarted) -> None:
        self._phases = event.num_phases
        self._epochs, self._num_tasks = event.epochs, event.num_tasks
        self._steps = event.epochs * event.steps_per_epoch
        self._started, self._first = time.perf_counter(), event.step
        if event.resumed:
            where = f"task {event.task + 1}/{event.num_tasks}, step {event.step} of {self._steps}"
            self.console.print(f"resuming in {where}", highlight=False)
        # Later tasks may have more or fewer steps; the total assumes that all have as many as this one.
        self._progress.update(self._bar, total=event.num_phases * self._steps)
        self._progress.update(self._bar, completed=event.phase * self._steps + event.step)

    def _step(self, event: StepDone) -> None:
        for name, term in event.terms.items():
            known = self._terms.get(name)
            self._terms[name] = term if known is None else known.lerp(term, _SMOOTHING)
        elapsed = time.perf_counter() - self._started
        steps = event.step + 1 - self._first
        if not self._estimated and (steps >= _FIRST_STEPS or elapsed > _FIRST_SECONDS):
            self._estimate(elapsed / steps)
        where = f"task {event.task + 1}/{self._num_tasks}  epoch {event.epoch + 1}/{self._epochs}"
        self._progress.update(self._bar, advance=1, description=where, speed=_rate(steps / elapsed))

    def _estimate(self, seconds_per_step: float) -> None:
        """Print an estimate of the duration once, if the run is long."""
        self._estimated = True
        total = seconds_per_step * self._steps * self._phases
        if total >= _LONG:
            hint = f"; {self.hint}" if self.hint else ""
            text = f"about {duration(total)} of training at the speed of the first steps{hint}"
            self.console.print(text, highlight=False, soft_wrap=True)

    def _finish_task(self, event: TaskDone) -> None:
        self._accuracy = f"accuracy {_format_accuracy(event.average)}"
        recalibrated = "" if event.recalibrated is None else f"  recalibrated {_format_accuracy(event.recalibrated)}"
        rate = _rate(self._steps / event.train_seconds)
        self.console.print(
            f"task {event.task + 1}/{self._num_tasks}  {self._steps} steps, {rate}  "
            f"{self._format_terms()}{self._accuracy}{recalibrated}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        self._terms = {}

    def _render(self) -> Group:
        """Render the bar, and below it losses and accuracy; called several times a second."""
        return Group(self._progress, Text(f"{self._tested}{self._format_terms()}{self._accuracy}"))

    def _format_terms(self) -> str:
        return "".join(f"{name} {term.item():.3g}  " for name, term in list(self._terms.items()))


def _format_accuracy(average: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in average.items())


def _rate(speed: float) -> str:
    return f"{speed:.0f} steps/s" if speed >= 2 else f"{1 / speed:.1f} s/step"
