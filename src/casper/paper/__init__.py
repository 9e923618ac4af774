"""The tables and figures of the paper as data, and the runs that reproduce each of them."""

from typing import TYPE_CHECKING

from casper._lazy import has_source, lazy_exports

if TYPE_CHECKING or not has_source(__name__):
    from casper.paper.plan import plan_runs
    from casper.paper.timing import Ratio, StepTimes, StepTimesProgress, ratio, step_times
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = [
    "Ratio",
    "StepTimes",
    "StepTimesProgress",
    "plan_runs",
    "ratio",
    "step_times",
]
