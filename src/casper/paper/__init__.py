"""The paper as data: its tables and figures, and the plan of runs behind each."""

from casper.paper.plan import plan

__all__ = [
    "plan",
]
