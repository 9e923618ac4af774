"""What the paper prints for a variant."""

from dataclasses import dataclass

from casper.paper.tables import PAPER_TABLES, PaperCell, paper_table
from casper.reporting.variants import Variant, settings_text


@dataclass(frozen=True)
class PaperFigure:
    """A figure, and its standard deviation where that is printed."""

    value: float
    std: float | None = None


def paper_figure(variant: Variant, path: str, first: str | None = None) -> PaperFigure | None:
    """Find what the paper prints for a variant; None: it does not.

    The paper prints some cells in two tables, and one of them with two figures.

    Args:
        variant: The variant; one that departs from the standard has no counterpart in the paper.
        path: The figure's dotted path in `metrics.json`.
        first: The table in which to look before all others.
    """
    if variant.changes:
        return None
    for table in map(paper_table, sorted(PAPER_TABLES, key=lambda name: name != first)):
        for name in [name for name, place in table.measures.items() if place == path]:
            for cell in table.cells:
                if name in cell.figures and _is_cell_of(cell, variant):
                    return PaperFigure(cell.figures[name], cell.figures.get("std") if name == "accuracy" else None)
    return None


def _is_cell_of(cell: PaperCell, variant: Variant) -> bool:
    return (
        (cell.stream, cell.method, cell.buffer_size or 0) == (variant.stream, variant.method, variant.buffer_size)
        and cell.regularizer == (variant.regularizers or "none")
        and variant.protocol is not None
        and settings_text(cell.settings[variant.protocol]) == variant.settings
    )
