"""The latent graph of one replay batch, and under it its spectrum with the gap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from casper.plots.labels import VariantName
from casper.plots.style import look, new_figure, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BETWEEN, _WITHIN = "#D55E00", "#999999"


@dataclass(frozen=True)
class GraphVariant:
    """One variant: the latent graph of a replay batch.

    Attributes:
        name: Its name.
        points: The nodes in the plane.
        labels: Their classes.
        edges: Pairs of nodes, counted from 0.
        eigenvalues: All of the graph's, ascending.
        num_classes: p, the number of classes in the batch.
        eigengap: λ_{p+1} - λ_p; None if there are too few eigenvalues.
    """

    name: VariantName
    points: tuple[tuple[float, float], ...]
    labels: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]
    eigenvalues: tuple[float, ...]
    num_classes: int
    eigengap: float | None = None


def draw_latent_graphs(variants: Sequence[GraphVariant], title: str) -> "Figure":
    """Draw for each variant the graph, edges between classes standing out, and under it its spectrum with the gap."""
    figure = new_figure(max(4.2, 3.8 * len(variants)), 6.6)
    grid = figure.subplots(2, len(variants), squeeze=False, height_ratios=(3, 2))
    classes = sorted({label for variant in variants for label in variant.labels})
    highest = max(value for variant in variants for value in variant.eigenvalues)
    for (above, below), variant in zip(grid.T, variants, strict=True):
        _draw_graph(above, variant, {label: place for place, label in enumerate(classes)})
        above.set_title(f"{variant.name.lines}\n{_crossing_text(variant)}", fontsize="small")
        _draw_spectrum(below, variant)
        below.set_ylim(-0.05, 1.05 * highest)
    grid[1][0].set_ylabel("i-th lowest eigenvalue")
    _legend(figure)
    set_title(figure, title)
    return figure


def crossing(graph: GraphVariant) -> int:
    """Count the edges between different classes."""
    return sum(graph.labels[i] != graph.labels[j] for i, j in graph.edges)


def _crossing_text(graph: GraphVariant) -> str:
    return f"{crossing(graph)} of {len(graph.edges)} edges join different classes"


def _draw_graph(axes: "Axes", graph: GraphVariant, places: Mapping[int, int]) -> None:
    for i, j in graph.edges:
        within = graph.labels[i] == graph.labels[j]
        (x, y), (u, v) = graph.points[i], graph.points[j]
        axes.plot(
            [x, u],
            [y, v],
            color=_WITHIN if within else _BETWEEN,
            linestyle="-" if within else (0, (3, 1.5)),
            linewidth=0.7 if within else 1.1,
            zorder=1,
        )
    for label, place in places.items():
        own = [point for point, other in zip(graph.points, graph.labels, strict=True) if other == label]
        chosen = look(place)
        axes.scatter(
            [x for x, _ in own],
            [y for _, y in own],
            s=32,
            c=chosen.colour,
            marker=chosen.marker,
            edgecolors="black",
            linewidths=0.4,
            zorder=2,
        )
    axes.set(xticks=[], yticks=[])


def _draw_spectrum(axes: "Axes", graph: GraphVariant) -> None:
    p, values = graph.num_classes, graph.eigenvalues
    axes.plot(range(1, len(values) + 1), values, color="black", marker=".", markersize=4, linewidth=0.8)
    axes.axvline(p + 0.5, color="0.6", linestyle=":", linewidth=1)
    if graph.eigengap is not None:
        axes.plot([p + 0.5] * 2, values[p - 1 : p + 1], color=_BETWEEN, linewidth=3, marker="_", markersize=9, zorder=3)
        text = f"gap behind the {_ordinal(p)}: {graph.eigengap:.3f}"
        axes.text(0.97, 0.06, text, transform=axes.transAxes, ha="right", fontsize="small")
    axes.set_xlabel("i")
    axes.grid(alpha=0.3)


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def _legend(figure: "Figure") -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=_WITHIN, linewidth=0.7, label="edge within a class"),
        Line2D([], [], color=_BETWEEN, linewidth=1.1, linestyle=(0, (3, 1.5)), label="edge between classes"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize="small")
