"""A table of results as a grid of texts, common to all output formats."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from casper.formatting import signed
from casper.reports.measures import Measure
from casper.reports.report import Cell, ResultTable
from casper.reports.statistics import Gain, Spread, Verdict

SIGNS: dict[Verdict, str] = {"higher": "▲", "lower": "▼", "not distinguishable": "○", "unknown": "?"}


@dataclass(frozen=True)
class GridCell:
    """A text, the number by which it is sorted (None sorts last), and the verdict whose sign is in the text."""

    text: str
    key: float | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Grid:
    """Headers, and rows of as many cells; the first cell of a row is its name.

    Example:
        >>> from casper.reports import Grid
        >>> from casper.reports.grid import GridCell
        >>> grid = Grid(("method", "mean"), ((GridCell("er"), GridCell("90.00 (1)", 90.0)),))
        >>> [cell.text for cell in grid.rows[0]]
        ['er', '90.00 (1)']
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[GridCell, ...], ...]


def grid_of(table: ResultTable, sizes: Sequence[int] | None = None, *, beside: bool = True) -> Grid:
    """Format a table: for each buffer size the measure, the value next to it, the gain and the paper's values.

    Args:
        table: The table.
        sizes: The buffer sizes to include. Default: all.
        beside: Whether to include the second value.

    Example:
        >>> from casper.config import resolve_config
        >>> from casper.reports import FinishedRun, grid_of, make_report
        >>> config = resolve_config({"method": "er"})
        >>> run = FinishedRun(config.name, config.as_dict(), {"class_il": {"final_average_accuracy": 90.0}})
        >>> grid = grid_of(make_report([run]).tables[0], beside=False)
        >>> [cell.text for cell in grid.rows[0]]
        ['er + casper', '90.00 (1)']
    """
    sizes, decimals, further = sizes or table.columns, table.measure.decimals, _further_columns(table, beside)
    headers = ["method"]
    for size in sizes:
        headers += [f"buffer {size}" if size else "mean", *(header for header, _ in further)]
    plain = {row.method for row in table.rows if not row.regularizers}
    rows = []
    for row in table.rows:
        below = row.regularizers and row.method in plain
        cells = [GridCell(f"\u2003{row.label}" if below else row.name)]
        for cell in map(row.cells.get, sizes):
            if cell is None:
                cells += [GridCell("")] * (1 + len(further))
            else:
                cells += [_mean(cell, decimals), *(write(cell) for _, write in further)]
        rows.append(tuple(cells))
    return Grid(tuple(headers), tuple(rows))


def _further_columns(table: ResultTable, beside: bool) -> list[tuple[str, Callable[[Cell], GridCell]]]:
    """List the non-empty columns after the measure: the header, and a function that formats a cell."""
    cells = [cell for row in table.rows for cell in row.cells.values()]
    measure, decimals = table.measure, table.measure.decimals
    second = measure.beside[1] if measure.beside and beside else ""
    columns: list[tuple[str, Callable[[Cell], GridCell]]] = []
    if second:
        columns.append((second, lambda cell: _number(cell.beside)))
    if any(cell.gain for cell in cells):
        columns.append((measure.gain, lambda cell: _gain(cell, measure)))
    if any(cell.paper for cell in cells):
        columns.append(("paper", lambda cell: _paper(cell, decimals)))
    if second and any(cell.paper_beside is not None for cell in cells):
        columns.append((f"paper {second}", lambda cell: _number(cell.paper_beside)))
    return columns


def _mean(cell: Cell, decimals: int) -> GridCell:
    return GridCell("–") if cell.spread is None else GridCell(spread_text(cell.spread, decimals), cell.spread.mean)


def _number(value: float | None) -> GridCell:
    return GridCell("" if value is None else f"{value:.2f}", value)


def _gain(cell: Cell, measure: Measure) -> GridCell:
    if cell.gain is None:
        return GridCell("")
    verdict = None if measure.no_verdict else cell.gain.verdict
    pairs = f" ({cell.gain.count})" if cell.gain.count != len(cell.seeds) else ""
    text = gain_text(cell.gain, measure.decimals, sign=verdict is not None)
    return GridCell(text + pairs, cell.gain.mean, verdict)


def _paper(cell: Cell, decimals: int) -> GridCell:
    if cell.paper is None:
        return GridCell("")
    std = "" if cell.paper.std is None else f" ± {cell.paper.std:.{decimals}f}"
    gain = "" if cell.paper_gain is None else f" ({cell.paper_gain:+.{decimals}f})"
    return GridCell(f"{cell.paper.value:.{decimals}f}{std}{gain}", cell.paper.value)


def spread_text(spread: Spread, decimals: int) -> str:
    """Format mean, standard deviation and number of seeds: `16.49 ± 0.53 (3)`."""
    std = "" if spread.std is None else f" ± {spread.std:.{decimals}f}"
    return f"{spread.mean:.{decimals}f}{std} ({spread.count})"


def gain_text(gain: Gain, decimals: int, *, sign: bool = True) -> str:
    """Format a gain, its interval and its sign: `+0.12 [-0.30, +0.54] ○`."""
    interval = ""
    if gain.low is not None and gain.high is not None:
        interval = f" [{signed(gain.low, decimals)}, {signed(gain.high, decimals)}]"
    return f"{signed(gain.mean, decimals)}{interval}{f' {SIGNS[gain.verdict]}' if sign else ''}"
