"""The latent graph of one replay batch, with or without its spectrum below."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from casper.plots.labels import VariantName
from casper.plots.style import look, new_figure, panels, set_title, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BETWEEN, _WITHIN = "#D55E00", "#999999"
_POSITIONS = "positions: t-SNE of the features"
_NOTE = (
    "The batch has a random choice of the classes in the memory. Positions are a t-SNE of the features: "
    "neighbours stay close, and the axes have no unit."
)


@dataclass(frozen=True)
class GraphVariant:
    """One variant: the latent graph of a replay batch.

    Attributes:
        name: Its name.
        points: The nodes in the plane, placed by t-SNE.
        labels: Their classes.
        edges: Pairs of nodes, counted from 0.
        eigenvalues: All of the graph's, ascending.
        num_classes: p, the number of classes in the batch.
        eigengap: λ_{p+1} - λ_p; None if there are too few eigenvalues.

    Example:
        >>> from casper.plots import GraphVariant, VariantName
        >>> points = ((0.0, 0.0), (0.0, 1.0), (1.0, 1.0))
        >>> graph = GraphVariant(VariantName("ER"), points, (0, 0, 1), ((0, 1), (1, 2)), (0.0, 1.0, 2.0), num_classes=2)
        >>> len(graph.edges), graph.eigengap is None
        (2, True)
    """

    name: VariantName
    points: tuple[tuple[float, float], ...]
    labels: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]
    eigenvalues: tuple[float, ...]
    num_classes: int
    eigengap: float | None = None


def draw_latent_graphs(variants: Sequence[GraphVariant], title: str) -> "Figure":
    """Draw each variant's graph, with edges between classes highlighted, and below it the spectrum with the gap.

    Example:
        >>> from casper.plots import GraphVariant, VariantName, draw_latent_graphs
        >>> points = ((0.0, 0.0), (0.0, 1.0), (1.0, 1.0))
        >>> graph = GraphVariant(VariantName("ER"), points, (0, 0, 1), ((0, 1), (1, 2)), (0.0, 1.0, 2.0), num_classes=2)
        >>> len(draw_latent_graphs([graph], "Digits").axes)  # the graph and its spectrum
        2
    """
    figure = new_figure(max(4.2, 3.8 * len(variants)), 6.6)
    grid = figure.subplots(2, len(variants), squeeze=False, height_ratios=(3, 2))
    classes = sorted({label for variant in variants for label in variant.labels})
    highest = max(value for variant in variants for value in variant.eigenvalues)
    for (above, below), variant in zip(grid.T, variants, strict=True):
        _draw_graph(above, variant, {label: place for place, label in enumerate(classes)})
        above.set_title(f"{variant.name.lines}\n{_crossing_text(variant)}", fontsize="small")
        above.set_xlabel(_POSITIONS, fontsize="small")
        _draw_spectrum(below, variant)
        below.set_ylim(-0.05, 1.05 * highest)
    grid[1][0].set_ylabel("i-th lowest eigenvalue")
    _legend(figure)
    set_title(figure, title)
    return figure


def draw_edges_between_classes(
    variants: Sequence[GraphVariant], counts: Sequence[Sequence[tuple[int, int]]], title: str
) -> "Figure":
    """Draw the graphs of several variants side by side, with edges between classes highlighted.

    Above a panel is the count of its graph, below it the count of all seeds.

    Args:
        variants: The graph of one seed of each variant: a class-balanced replay batch, placed by t-SNE.
        counts: For each variant and each of its seeds, the edges between classes, and all edges.
        title: The title: what the panels show.
    """
    figure = new_figure(max(4.6, 4.3 * len(variants)), 6.2)
    figure.set_layout_engine("constrained", h_pad=0.09)
    classes = sorted({label for variant in variants for label in variant.labels})
    places = {label: place for place, label in enumerate(classes)}
    for axes, variant, found in zip(panels(figure, len(variants), len(variants)), variants, counts, strict=True):
        _draw_graph(axes, variant, places, size=60)
        axes.set_title(f"{variant.name.lines}\n{_crossing_text(variant)}", fontsize="medium")
        if len(found) > 1:
            axes.set_xlabel(all_seeds_text(found), fontsize="small")
        axes.set_box_aspect(1)
        axes.margins(0.08)
    _legend(figure, places, note=wrapped(_NOTE, 1.1 * figure.get_figwidth()))
    set_title(figure, title)
    return figure


def all_seeds_text(counts: Sequence[tuple[int, int]]) -> str:
    """Write the edges between classes of all seeds together, and of each seed."""
    between, edges = (sum(numbers) for numbers in zip(*counts, strict=True))
    listed = " + ".join(str(number) for number, _ in counts)
    return f"all {len(counts)} seeds: {listed} = {between} of {edges} edges"


def crossing(graph: GraphVariant) -> int:
    """Count the edges between different classes."""
    return sum(graph.labels[i] != graph.labels[j] for i, j in graph.edges)


def _crossing_text(graph: GraphVariant) -> str:
    return f"{crossing(graph)} of {len(graph.edges)} edges join different classes"


def _draw_graph(axes: "Axes", graph: GraphVariant, places: Mapping[int, int], size: float = 32) -> None:
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
        members = [point for point, other in zip(graph.points, graph.labels, strict=True) if other == label]
        chosen = look(place)
        axes.scatter(
            [x for x, _ in members],
            [y for _, y in members],
            s=size,
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
        text = f"gap after the {_ordinal(p)}: {graph.eigengap:.3f}"
        axes.text(0.97, 0.06, text, transform=axes.transAxes, ha="right", fontsize="small")
    axes.set_xlabel("i")
    axes.grid(alpha=0.3)


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def _legend(figure: "Figure", places: Mapping[int, int] | None = None, note: str | None = None) -> None:
    """Add a legend of the two kinds of edges, of the classes if their places are given, and a note above both."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=_WITHIN, linewidth=0.7, label="edge within a class"),
        Line2D([], [], color=_BETWEEN, linewidth=1.1, linestyle=(0, (3, 1.5)), label="edge between classes"),
    ]
    for label, place in (places or {}).items():
        chosen = look(place)
        handles.append(Line2D([], [], color=chosen.colour, marker=chosen.marker, linestyle="", label=f"class {label}"))
        handles[-1].set(markeredgecolor="black", markeredgewidth=0.4)
    columns = 2 if places is None else -(-len(handles) // 2)
    figure.legend(
        handles=handles, loc="outside lower center", ncols=columns, fontsize="small", title=note, title_fontsize="small"
    )
