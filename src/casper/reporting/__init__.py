"""Reporting: progress, tables and figures."""

from casper.reporting.figures import accuracy_over_tasks
from casper.reporting.progress import ProgressDisplay
from casper.reporting.tables import (
    SCENARIO_TITLES,
    comparison_table,
    difference_table,
    latent_line,
    matrix_table,
    number,
    spread,
    summary_table,
)

__all__ = [
    "SCENARIO_TITLES",
    "ProgressDisplay",
    "accuracy_over_tasks",
    "comparison_table",
    "difference_table",
    "latent_line",
    "matrix_table",
    "number",
    "spread",
    "summary_table",
]
