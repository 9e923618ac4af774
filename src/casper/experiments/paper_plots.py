"""The figures of the paper: the runs behind each, and what is drawn from them."""

from dataclasses import dataclass

from casper.experiments.paper_tables import PaperCell, PaperTable

_REHEARSAL = ("er-ace", "icarl", "der++", "x-der", "podnet")


@dataclass(frozen=True)
class PaperPlot:
    """One figure.

    Attributes:
        table: Its runs, as the cells of a table; there are no printed figures to compare with.
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


# Which methods the label-signal variation was drawn of is not said in words; the bars' memory size neither, and it
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
# How much longer training takes with CaSpeR, as the paper says in words (supplement, on a V100).
PUBLISHED_RATIOS = {"er-ace": 1.43, "x-der": 1.33}
