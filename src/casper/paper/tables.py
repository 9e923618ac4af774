"""The tables and figures of the paper: the settings of their runs, and the published values."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from casper.config.presets import PROTOCOLS, Protocol, packaged

PAPER_TABLES: tuple[str, ...] = ("cil", "scr", "knn", "til", "domain", "derset", "batchsizes", "cssl")
_NO_BUFFER = "no buffer"


@dataclass(frozen=True)
class PaperCell:
    """A cell of a table.

    Attributes:
        stream: The stream's name.
        method: The method's name.
        regularizer: The regularizer's name, or `none` for the plain method.
        buffer_size: The size of the memory, or None for a method without a memory.
        settings: The values that the table sets in addition to each protocol, by dotted key.
        values: The published values, by the name of the measure.
    """

    stream: str
    method: str
    regularizer: str
    buffer_size: int | None
    settings: Mapping[Protocol, Mapping[str, Any]]
    values: Mapping[str, float]


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper.

    Attributes:
        name: The table's name on the command line.
        title: The table's title.
        measures: The dotted path of each measure in `metrics.json`, by its name.
        cells: The cells, in the order of the paper.
    """

    name: str
    title: str
    measures: Mapping[str, str]
    cells: tuple[PaperCell, ...]


@cache
def paper_table(name: str) -> PaperTable:
    """Look up a table by one of the names in `PAPER_TABLES`."""
    content = packaged("tables.yaml", "casper.paper")[name]
    cells = [cell for block in content["blocks"] for cell in _cells(block)]
    return PaperTable(name, content["title"], content["measures"], tuple(cells))


def _cells(block: Mapping[str, Any]) -> list[PaperCell]:
    paper = block.get("settings", {})
    small = block.get("desk_settings", paper)
    settings: dict[Protocol, Mapping[str, Any]] = {"paper": paper, "desk": small, "pretrained": small}
    return [
        PaperCell(block["stream"], method, regularizer, None if size == _NO_BUFFER else size, settings, values)
        for size, methods in block["cells"].items()
        for method, regularizers in methods.items()
        for regularizer, values in regularizers.items()
    ]


def settings_of(stream: str) -> list[Mapping[Protocol, Mapping[str, Any]]]:
    """List the settings that the paper's tables add to the protocols on a stream, without duplicates.

    The first entry is empty: the protocols alone.
    """
    listed: list[Mapping[Protocol, Mapping[str, Any]]] = [{protocol: {} for protocol in PROTOCOLS}]
    for table in map(paper_table, PAPER_TABLES):
        for cell in table.cells:
            if cell.stream == stream and cell.settings not in listed:
                listed.append(cell.settings)
    return listed


_REHEARSAL = ("er-ace", "icarl", "der++", "x-der", "podnet")


@dataclass(frozen=True)
class PaperPlot:
    """A figure of the paper.

    Attributes:
        table: The runs of the figure, as the cells of a table without published values.
        draws: The names of the figures that `casper figure` draws of the runs; empty for `times`, which is measured.
    """

    table: PaperTable
    draws: tuple[str, ...]


def _plot(name: str, title: str, methods: tuple[str, ...], buffer_size: int, *draws: str) -> PaperPlot:
    """Describe a figure with every method, without and with CaSpeR, on Split CIFAR-100, as all figures of the paper."""
    cells = (
        PaperCell("split-cifar100", method, regularizer, buffer_size, {protocol: {} for protocol in PROTOCOLS}, {})
        for method in methods
        for regularizer in ("none", "casper")
    )
    return PaperPlot(PaperTable(name, title, {}, tuple(cells)), draws)


# The paper does not state the methods in the figure of the label-signal variation, nor the memory size in the figure of
# times; the latter hardly changes the time of a step.
PAPER_PLOTS: dict[str, PaperPlot] = {
    plot.table.name: plot
    for plot in (
        _plot("sigma", "label-signal variation of the memory over tasks", _REHEARSAL, 500, "sigma", "sigma-share"),
        _plot("tsne", "features of the memory in later tasks", ("x-der",), 2000, "tsne"),
        _plot("fmaps", "functional maps from task 5 to task 10", ("er-ace", "icarl", "x-der"), 2000, "fmaps"),
        _plot("times", "wall-clock time of training steps", _REHEARSAL, 500),
    )
}
# The published ratio of training times with and without CaSpeR (supplement, on a V100).
PUBLISHED_RATIOS = {"er-ace": 1.43, "x-der": 1.33}
