"""The tables of the paper: their cells, and the figures that are printed in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from casper.config.presets import Protocol, packaged

PAPER_TABLES: tuple[str, ...] = ("cil", "scr", "knn", "til", "domain", "derset", "batchsizes", "cssl")
_NO_BUFFER = "no buffer"


@dataclass(frozen=True)
class PaperCell:
    """One cell.

    Attributes:
        stream: The stream's name.
        method: The method's name.
        regularizer: The regularizer's name; `none`: the plain method.
        buffer_size: The memory's size; None: the method keeps none.
        settings: What the table has beside each protocol, by dotted key.
        figures: What is printed, by the name of the measure.
    """

    stream: str
    method: str
    regularizer: str
    buffer_size: int | None
    settings: Mapping[Protocol, Mapping[str, Any]]
    figures: Mapping[str, float]


@dataclass(frozen=True)
class PaperTable:
    """One table.

    Attributes:
        name: Its name on the command line.
        title: What it shows.
        measures: Where in `metrics.json` each of its figures is found, by name; a dotted path.
        cells: Its cells, in the paper's order.
    """

    name: str
    title: str
    measures: Mapping[str, str]
    cells: tuple[PaperCell, ...]


@cache
def paper_table(name: str) -> PaperTable:
    """Look a table up by one of the names in `PAPER_TABLES`."""
    content = packaged("paper_tables.yaml", "casper.experiments")[name]
    cells = [cell for block in content["blocks"] for cell in _cells(block)]
    return PaperTable(name, content["title"], content["measures"], tuple(cells))


def _cells(block: Mapping[str, Any]) -> list[PaperCell]:
    own = block.get("settings", {})
    settings: dict[Protocol, Mapping[str, Any]] = {"paper": own, "desk": block.get("desk_settings", own)}
    return [
        PaperCell(block["stream"], method, regularizer, None if size == _NO_BUFFER else size, settings, figures)
        for size, methods in block["cells"].items()
        for method, regularizers in methods.items()
        for regularizer, figures in regularizers.items()
    ]
