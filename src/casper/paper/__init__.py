"""The paper as data: its tables and figures, and the plan of runs behind each."""

from casper.paper.plan import plan
from casper.paper.timing import Ratio, StepTimes, StepTimesProgress, ratio, step_times

__all__ = [
    "Ratio",
    "StepTimes",
    "StepTimesProgress",
    "plan",
    "ratio",
    "step_times",
]
