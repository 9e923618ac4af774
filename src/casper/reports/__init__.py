"""Build statistics, tables and figures from finished runs."""

from casper.reports.figures import FIGURES, FigureKind, check_figure_name, check_figure_path, draw_figure
from casper.reports.files import check_report_path, write_report
from casper.reports.grid import Grid, grid_of
from casper.reports.measures import MEASURES
from casper.reports.report import Report, ResultTable, make_report
from casper.reports.runs import FinishedRun, read_runs

__all__ = [
    "FIGURES",
    "MEASURES",
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
    "write_report",
]
