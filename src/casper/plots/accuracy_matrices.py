"""Accuracy matrices as heat maps: the accuracy on every task after every task."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING

from casper.metrics import AccuracyMatrix
from casper.plots.labels import VariantName
from casper.plots.style import dark_is_more, new_figure, panels, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

_CELL = 0.4  # inches
_DARK = 0.5  # numbers are light on a background below this luminance


@dataclass(frozen=True)
class MatrixVariant:
    """One variant: a[j][i] is the accuracy on task i after task j in percent; None if not measured.

    Example:
        >>> from casper.plots import MatrixVariant, VariantName
        >>> variant = MatrixVariant(VariantName("ER"), [[90.0, None], [60.0, 80.0]])
        >>> variant.matrix[1][0]  # on the first task after the second
        60.0
    """

    name: VariantName
    matrix: AccuracyMatrix


def mean_matrix(matrices: Sequence[AccuracyMatrix]) -> AccuracyMatrix:
    """Average matrices of one size, entry by entry; an entry is None if it is missing in one of them."""
    return [[_mean(values) for values in zip(*rows, strict=True)] for rows in zip(*matrices, strict=True)]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if len(known) == len(values) else None


def draw_accuracy_matrices(variants: Sequence[MatrixVariant], title: str) -> "Figure":
    """Draw one panel per variant, from light (0 %) to dark (100 %).

    Example:
        >>> from casper.plots import MatrixVariant, VariantName, draw_accuracy_matrices
        >>> variant = MatrixVariant(VariantName("ER"), [[90.0, None], [60.0, 80.0]])
        >>> figure = draw_accuracy_matrices([variant], "Digits")
        >>> len(figure.axes)  # a panel and the scale of the colours
        2
    """
    columns = min(2, len(variants))
    tasks = max(len(variant.matrix) for variant in variants)
    side = max(_CELL * tasks, 2.4)
    rows = -(-len(variants) // columns)
    figure = new_figure(columns * (side + 0.7) + 0.9, rows * (side + 0.9) + 0.5, compressed=True)
    places = panels(figure, len(variants), columns)
    for axes, variant in zip(places, variants, strict=True):
        image = _draw_matrix(axes, variant.matrix)
        axes.set_title(variant.name.lines, fontsize="small")
    bar = figure.colorbar(image, ax=places, fraction=0.04, aspect=30, pad=0.02)
    bar.set_label("accuracy (%)", fontsize="small")
    set_title(figure, title)
    return figure


def _draw_matrix(axes: "Axes", matrix: AccuracyMatrix) -> "AxesImage":
    colours = dark_is_more()
    shades = [[float("nan") if value is None else value for value in row] for row in matrix]
    image = axes.imshow(shades, cmap=colours, vmin=0, vmax=100)
    decimals = 1 if len(matrix) <= 10 else 0
    for after, row in enumerate(matrix):
        for task, value in enumerate(row):
            if value is not None:
                ink = "white" if _luminance(colours(value / 100)) < _DARK else "black"
                axes.text(task, after, f"{value:.{decimals}f}", ha="center", va="center", color=ink, fontsize=7)
    ticks = range(len(matrix))
    axes.set_xticks(ticks, [str(task + 1) for task in ticks], fontsize="x-small")
    axes.set_yticks(ticks, [str(task + 1) for task in ticks], fontsize="x-small")
    axes.set_xlabel("accuracy on task", fontsize="small")
    axes.set_ylabel("after task", fontsize="small")
    return image


def _luminance(colour: tuple[float, float, float, float]) -> float:
    red, green, blue, _ = colour
    return 0.299 * red + 0.587 * green + 0.114 * blue
