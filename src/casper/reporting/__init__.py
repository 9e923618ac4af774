"""Reporting: progress, tables and figures."""

from casper.reporting.figures import (
    FIGURES,
    accuracy_over_tasks,
    averages_so_far,
    check_figure_name,
    check_figure_path,
    draw_figure,
    draw_times,
    save_figure,
)
from casper.reporting.finished_runs import FinishedRun, read_runs
from casper.reporting.grid import Grid, grid_of
from casper.reporting.measures import MEASURES
from casper.reporting.progress import ProgressDisplay
from casper.reporting.report import Report, ResultTable, make_report
from casper.reporting.report_files import check_report_path, write_report
from casper.reporting.step_time_rows import STEP_TIME_HEADERS, step_time_markdown, step_time_rows, timed_variants
from casper.reporting.sweep_display import SweepDisplay, counts
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
from casper.reporting.telling_apart import telling_apart
from casper.reporting.words import counted, duration

__all__ = [
    "FIGURES",
    "MEASURES",
    "SCENARIO_TITLES",
    "STEP_TIME_HEADERS",
    "FinishedRun",
    "Grid",
    "ProgressDisplay",
    "Report",
    "ResultTable",
    "SweepDisplay",
    "accuracy_over_tasks",
    "averages_so_far",
    "check_figure_name",
    "check_figure_path",
    "check_report_path",
    "comparison_table",
    "counted",
    "counts",
    "difference_table",
    "draw_figure",
    "draw_times",
    "duration",
    "grid_of",
    "latent_line",
    "make_report",
    "matrix_table",
    "number",
    "read_runs",
    "save_figure",
    "spread",
    "step_time_markdown",
    "step_time_rows",
    "summary_table",
    "telling_apart",
    "timed_variants",
    "write_report",
]
