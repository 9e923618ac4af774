"""Finished runs to variants, statistics, tables and figures."""

from casper.reports.figures import FIGURES, FigureKind, check_figure_name, check_figure_path, draw_figure
from casper.reports.files import check_report_path, write_report
from casper.reports.grid import Grid, grid_of
from casper.reports.measures import MEASURES
from casper.reports.report import Report, ResultTable, make_report
from casper.reports.runs import FinishedRun, read_runs
from casper.reports.step_times import STEP_TIME_HEADERS, step_time_markdown, step_time_rows, timed_variants
from casper.reports.variants import telling_apart

__all__ = [
    "FIGURES",
    "MEASURES",
    "STEP_TIME_HEADERS",
    "FigureKind",
    "FinishedRun",
    "Grid",
    "Report",
    "ResultTable",
    "check_figure_name",
    "check_figure_path",
    "check_report_path",
    "draw_figure",
    "grid_of",
    "make_report",
    "read_runs",
    "step_time_markdown",
    "step_time_rows",
    "telling_apart",
    "timed_variants",
    "write_report",
]
