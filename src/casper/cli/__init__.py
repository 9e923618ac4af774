"""The command line: the only layer that knows names, files and argv."""

from casper.cli.console import (
    SCENARIO_TITLES,
    comparison_table,
    difference_table,
    latent_line,
    matrix_table,
    number,
    spread,
    summary_table,
)
from casper.cli.progress import ProgressDisplay
from casper.cli.sweep_progress import SweepDisplay, counts

__all__ = [
    "SCENARIO_TITLES",
    "ProgressDisplay",
    "SweepDisplay",
    "comparison_table",
    "counts",
    "difference_table",
    "latent_line",
    "matrix_table",
    "number",
    "spread",
    "summary_table",
]
