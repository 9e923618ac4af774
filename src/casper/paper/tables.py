"""The tables and figures of the paper: the runs behind each, and the values that are printed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from casper.config.presets import PROTOCOLS, Protocol, packaged

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
        settings: What the table has besides each protocol, by dotted key.
        values: What is printed, by the name of the measure.
    """

    stream: str
    method: str
    regularizer: str
    buffer_size: int | None
    settings: Mapping[Protocol, Mapping[str, Any]]
    values: Mapping[str, float]


@dataclass(frozen=True)
class PaperTable:
    """One table.

    Attributes:
        name: Its name on the command line.
        title: What it shows.
        measures: Where in `metrics.json` each of its values is found, by name; a dotted path.
        cells: Its cells, in the paper's order.
    """

    name: str
    title: str
    measures: Mapping[str, str]
    cells: tuple[PaperCell, ...]


@cache
def paper_table(name: str) -> PaperTable:
    """Look a table up by one of the names in `PAPER_TABLES`."""
    content = packaged("tables.yaml", "casper.paper")[name]
    cells = [cell for block in content["blocks"] for cell in _cells(block)]
    return PaperTable(name, content["title"], content["measures"], tuple(cells))


def _cells(block: Mapping[str, Any]) -> list[PaperCell]:
    own = block.get("settings", {})
    settings: dict[Protocol, Mapping[str, Any]] = {"paper": own, "desk": block.get("desk_settings", own)}
    return [
        PaperCell(block["stream"], method, regularizer, None if size == _NO_BUFFER else size, settings, values)
        for size, methods in block["cells"].items()
        for method, regularizers in methods.items()
        for regularizer, values in regularizers.items()
    ]


def settings_of(stream: str) -> list[Mapping[Protocol, Mapping[str, Any]]]:
    """List what the paper's tables have besides the protocols on a stream, each once; first: nothing."""
    listed: list[Mapping[Protocol, Mapping[str, Any]]] = [{protocol: {} for protocol in PROTOCOLS}]
    for table in map(paper_table, PAPER_TABLES):
        for cell in table.cells:
            if cell.stream == stream and cell.settings not in listed:
                listed.append(cell.settings)
    return listed


_REHEARSAL = ("er-ace", "icarl", "der++", "x-der", "podnet")


@dataclass(frozen=True)
class PaperPlot:
    """One figure.

    Attributes:
        table: Its runs, as the cells of a table; there are no printed values to compare with.
        draws: The names of the pictures that `casper figure` draws of them; none for `times`, which is measured.
    """

    table: PaperTable
    draws: tuple[str, ...]


def _plot(name: str, title: str, methods: tuple[str, ...], buffer_size: int, *draws: str) -> PaperPlot:
    """Take every method without and with CaSpeR on Split CIFAR-100, on which the paper draws all of them."""
    cells = (
        PaperCell("split-cifar100", method, regularizer, buffer_size, {"paper": {}, "desk": {}}, {})
        for method in methods
        for regularizer in ("none", "casper")
    )
    return PaperPlot(PaperTable(name, title, {}, tuple(cells)), draws)


# The paper does not say for which methods the label-signal variation was drawn, nor the memory size of the bars, which
# hardly changes the time of a step.
PAPER_PLOTS: dict[str, PaperPlot] = {
    plot.table.name: plot
    for plot in (
        _plot("sigma", "label-signal variation of the memory over tasks", _REHEARSAL, 500, "sigma", "sigma-share"),
        _plot("tsne", "features of the memory in later tasks", ("x-der",), 2000, "tsne"),
        _plot("fmaps", "functional maps from task 5 to task 10", ("er-ace", "icarl", "x-der"), 2000, "fmaps"),
        _plot("times", "wall-clock time of training steps", _REHEARSAL, 500),
    )
}
# How many times as long training takes with CaSpeR, as stated in the text (supplement, on a V100).
PUBLISHED_RATIOS = {"er-ace": 1.43, "x-der": 1.33}
