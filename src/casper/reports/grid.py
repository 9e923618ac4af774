"""A table of results as text: one grid, for every kind of file."""

from collections.abc import Sequence
from dataclasses import dataclass

from casper.formatting import signed
from casper.reports.report import Cell, PublishedValue, ResultTable
from casper.reports.statistics import Gain, Spread

SIGNS = {"higher": "▲", "lower": "▼", "not distinguishable": "○", "unknown": "?"}


@dataclass(frozen=True)
class GridCell:
    """A text, and the number by which it is sorted; None: last."""

    text: str
    key: float | None = None


@dataclass(frozen=True)
class Grid:
    """Headers, and rows of as many cells; the first cell of a row is its name."""

    headers: tuple[str, ...]
    rows: tuple[tuple[GridCell, ...], ...]


def grid_of(table: ResultTable, sizes: Sequence[int] | None = None, *, beside: bool = True) -> Grid:
    """Write a table out: for each buffer size the measure, what stands next to it, the gain and the paper's values.

    Args:
        table: The table.
        sizes: The buffer sizes to show. Default: all.
        beside: Whether to show the second value.
    """
    second = [table.measure.beside[1]] if table.measure.beside and beside else []
    gains = any(cell.gain for row in table.rows for cell in row.cells.values())
    printed = any(cell.paper is not None for row in table.rows for cell in row.cells.values())
    both = bool(second) and any(cell.paper_beside is not None for row in table.rows for cell in row.cells.values())
    headers = ["method"]
    for size in sizes or table.columns:
        headers.append(f"buffer {size}" if size else "mean")
        headers += second + [table.measure.gain] * gains + ["paper"] * printed
        headers += [f"paper {name}" for name in second] * both
    plain = {row.method for row in table.rows if not row.regularizers}
    rows = []
    for row in table.rows:
        below = row.regularizers and row.method in plain
        cells = [GridCell(f"\u2003{row.label}" if below else row.name)]
        for size in sizes or table.columns:
            cell = row.cells.get(size)
            cells += _cells(cell, table.measure.decimals, bool(second), gains, printed, both)
        rows.append(tuple(cells))
    return Grid(tuple(headers), tuple(rows))


def _cells(
    cell: Cell | None, decimals: int, beside: bool, gains: bool, printed: bool, both: bool
) -> Sequence[GridCell]:
    if cell is None:
        return [GridCell("")] * (1 + beside + gains + printed + both)
    cells = [GridCell(spread_text(cell.spread, decimals), cell.spread.mean)]
    if beside:
        cells.append(GridCell("" if cell.beside is None else f"{cell.beside:.2f}", cell.beside))
    if gains:
        text = gain_text(cell.gain, decimals)
        if cell.gain and cell.gain.count != cell.spread.count:
            text += f" ({cell.gain.count})"
        cells.append(GridCell(text, cell.gain.mean if cell.gain else None))
    if printed:
        cells.append(GridCell("") if cell.paper is None else _paper(cell.paper, cell.paper_gain, decimals))
    if both:
        text = "" if cell.paper_beside is None else f"{cell.paper_beside:.2f}"
        cells.append(GridCell(text, cell.paper_beside))
    return cells


def _paper(published: PublishedValue, gain: float | None, decimals: int) -> GridCell:
    std = "" if published.std is None else f" ± {published.std:.{decimals}f}"
    added = "" if gain is None else f" ({gain:+.{decimals}f})"
    return GridCell(f"{published.value:.{decimals}f}{std}{added}", published.value)


def spread_text(spread: Spread, decimals: int) -> str:
    """Show mean, standard deviation and number of seeds: `16.49 ± 0.53 (3)`."""
    std = "" if spread.std is None else f" ± {spread.std:.{decimals}f}"
    return f"{spread.mean:.{decimals}f}{std} ({spread.count})"


def gain_text(gain: Gain | None, decimals: int) -> str:
    """Show a gain, its interval and its sign: `+0.12 [-0.30, +0.54] ○`; empty: there is none."""
    if gain is None:
        return ""
    interval = ""
    if gain.low is not None and gain.high is not None:
        interval = f" [{signed(gain.low, decimals)}, {signed(gain.high, decimals)}]"
    return f"{signed(gain.mean, decimals)}{interval} {SIGNS[gain.verdict]}"
