"""Scatter plots of the latent space: one row per variant, one column per task end (Fig. 2b of the CaSpeR paper)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from casper.plots.labels import VariantName, broken
from casper.plots.style import look, new_figure, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CLASSES = 8  # as many as there are colours
_SIDE = 2.5  # inches of a panel
_OTHERS = "#BBBBBB"


@dataclass(frozen=True)
class LabelledPoints:
    """Points in the plane with their classes, and the actual and highest possible neighbourhood purity in percent.

    Example:
        >>> from casper.plots import LabelledPoints
        >>> picture = LabelledPoints(points=((0.0, 0.0), (1.0, 2.0)), labels=(0, 1), purity=95.0)
        >>> picture.points[1], picture.purity
        ((1.0, 2.0), 95.0)
    """

    points: tuple[tuple[float, float], ...]
    labels: tuple[int, ...]
    purity: float | None = None
    purity_most: float | None = None


@dataclass(frozen=True)
class EmbeddedVariant:
    """One variant: its embeddings by the number of tasks learned.

    Example:
        >>> from casper.plots import EmbeddedVariant, LabelledPoints, VariantName
        >>> picture = LabelledPoints(points=((0.0, 0.0), (1.0, 2.0)), labels=(0, 1))
        >>> variant = EmbeddedVariant(VariantName("ER"), {2: picture})
        >>> variant.pictures[2].labels
        (0, 1)
    """

    name: VariantName
    pictures: Mapping[int, LabelledPoints]


def draw_embeddings(variants: Sequence[EmbeddedVariant], title: str) -> "Figure":
    """Draw all embeddings; at most eight classes have a colour and a marker, the same everywhere; others are grey.

    Example:
        >>> from casper.plots import EmbeddedVariant, LabelledPoints, VariantName, draw_embeddings
        >>> picture = LabelledPoints(points=((0.0, 0.0), (1.0, 2.0)), labels=(0, 1))
        >>> variant = EmbeddedVariant(VariantName("ER"), {1: picture, 2: picture})
        >>> len(draw_embeddings([variant], "Digits").axes)  # a panel per task end
        2
    """
    ends = sorted({end for variant in variants for end in variant.pictures})
    classes = shown_classes(variants)
    width = max(_SIDE * len(ends) + 0.4, 4.0)
    columns = max(2, int(width / 1.1))  # of the legend
    height = (_SIDE + 0.25) * len(variants) + 0.8 + 0.22 * ((len(classes) + columns) // columns)
    figure = new_figure(width, height, compressed=True)
    grid = figure.subplots(len(variants), len(ends), squeeze=False)
    for row, variant in zip(grid, variants, strict=True):
        for axes, end in zip(row, ends, strict=True):
            axes.set(xticks=[], yticks=[], box_aspect=1)
            heading = f"after task {end}\n" if variant is variants[0] else ""
            axes.set_title(heading + _draw(axes, variant.pictures.get(end), classes), fontsize="small")
        row[0].set_ylabel(broken(variant.name.text, 28), fontsize="small")
    _legend(figure, classes, columns)
    set_title(figure, title)
    return figure


def shown_classes(variants: Sequence[EmbeddedVariant]) -> list[int]:
    """Choose at most eight classes, evenly among those in every embedding, or among all if there are none."""
    present = [set(picture.labels) for variant in variants for picture in variant.pictures.values()]
    candidates = sorted(set.intersection(*present) or set.union(*present))
    count = min(MOST_CLASSES, len(candidates))
    return [candidates[place * len(candidates) // count] for place in range(count)]


def _draw(axes: "Axes", picture: LabelledPoints | None, classes: Sequence[int]) -> str:
    """Draw one embedding; returns its title."""
    if picture is None:
        axes.set_axis_off()
        return "not embedded"
    size = max(3.0, min(16.0, 6000 / len(picture.points)))
    _scatter(axes, [p for p, label in zip(picture.points, picture.labels, strict=True) if label not in classes], size)
    for place, wanted in enumerate(classes):
        members = [point for point, label in zip(picture.points, picture.labels, strict=True) if label == wanted]
        _scatter(axes, members, 2 * size, place)
    most = "" if picture.purity_most is None else f" of at most {picture.purity_most:.1f}"
    return "" if picture.purity is None else f"purity {picture.purity:.1f}{most} %"


def _scatter(axes: "Axes", points: Sequence[tuple[float, float]], size: float, place: int | None = None) -> None:
    """Draw the points of the class at a place of the legend; None draws the other classes, in grey."""
    chosen = look(place or 0)
    colour, marker = (_OTHERS, ".") if place is None else (chosen.colour, chosen.marker)
    edge = ("none", 0.0) if place is None else ("black", 0.2)  # yellow needs an edge to be visible on white
    axes.scatter(
        [x for x, _ in points],
        [y for _, y in points],
        s=size,
        c=colour,
        marker=marker,
        edgecolors=edge[0],
        linewidths=edge[1],
        rasterized=True,  # thousands of points would make a large vector file
    )


def _legend(figure: "Figure", classes: Sequence[int], columns: int) -> None:
    from matplotlib.lines import Line2D

    handles = []
    for place, label in enumerate(classes):
        chosen = look(place)
        handles.append(Line2D([], [], color=chosen.colour, marker=chosen.marker, linestyle="", label=f"class {label}"))
        handles[-1].set_markeredgecolor("black")
        handles[-1].set_markeredgewidth(0.3)
    handles.append(Line2D([], [], color=_OTHERS, marker=".", linestyle="", label="other classes"))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=min(columns, len(handles)),
        fontsize="small",
        handletextpad=0.1,
    )
