"""Progress of a sweep: a live table on a terminal; elsewhere a line for each run that has ended."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from casper.cli.console import number
from casper.formatting import counted, duration, printable
from casper.runs import how_far
from casper.runs.results import final_accuracy, look_up
from casper.sweeps import SweepRun

# The order of runs in the table: active runs first, finished runs last.
_ORDER = ("running", "failed", "elsewhere", "unfinished", "outdated", "missing", "done")
_STYLES = {"running": "bold", "failed": "red", "done": "green"}


class SweepDisplay:
    """Display the runs of a sweep, the progress of each, and how many are done."""

    def __init__(self, console: Console, runs: Sequence[SweepRun]) -> None:
        self.console, self.runs = console, runs
        self._started = time.monotonic()
        self._ended = 0
        self._live = Live(self, console=console, refresh_per_second=2, transient=True)

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def changed(self, run: SweepRun) -> None:
        """Print a permanent line for a run that has ended."""
        if run.state in ("running", "elsewhere"):
            return
        self._ended += 1
        todo = sum(not run.earlier for run in self.runs)
        text = f"{self._ended}/{todo}  {run.config.name}  {run.state}  {ending(run)}"
        self.console.print(printable(text), highlight=False, markup=False, soft_wrap=True)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max(3, (options.height or console.size.height) - 6)
        runs = sorted(self.runs, key=lambda run: _ORDER.index(run.state))
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, expand=True)
        table.add_column("run", no_wrap=True, overflow="ellipsis", ratio=3, min_width=20)
        for title, width in (("seed", 4), ("buffer", 6), ("state", 10)):
            table.add_column(title, no_wrap=True, min_width=width)
        table.add_column("", no_wrap=True, overflow="ellipsis", ratio=2)
        for run in runs[:room]:
            chosen = run.config.options
            what = " + ".join([chosen.method, *chosen.regularizer]) + f" on {chosen.stream} {run.config.hash}"
            detail = how_far(run.directory.log) if run.state == "running" else ending(run)
            cells = (what, str(chosen.seed), str(chosen.buffer_size), run.state, detail)
            table.add_row(*(Text(printable(cell)) for cell in cells), style=_STYLES.get(run.state, ""))
        yield table
        if len(runs) > room:
            yield Text(f"... and {len(runs) - room} more", style="dim")
        yield Text(f"{counts(self.runs)}; {duration(time.monotonic() - self._started)}{self._left()}")

    def _left(self) -> str:
        """Estimate the time left from the runs that this sweep has finished."""
        finished = sum(run.state == "done" and not run.earlier for run in self.runs)
        left = sum(run.state not in ("done", "failed") for run in self.runs)
        if not finished or not left:
            return ""
        return f", about {duration((time.monotonic() - self._started) / finished * left)} left"


def counts(runs: Sequence[SweepRun]) -> str:
    """Count runs by state: `84 runs: 12 done, 2 running, 70 missing`."""
    found = [(state, sum(run.state == state for run in runs)) for state in reversed(_ORDER)]
    return f"{counted(len(runs), 'run')}: " + ", ".join(f"{count} {state}" for state, count in found if count)


def ending(run: SweepRun) -> str:
    """Describe how a run ended: its final average accuracy, or the reason of its failure."""
    if run.metrics is None:
        return run.reason
    took = look_up(run.metrics, "seconds.total")
    parts = [f"{number(final_accuracy(run.metrics))} %", "-" if took is None else duration(took), run.reason]
    return ", ".join(filter(None, parts))
