"""Spectra of latent graphs over tasks, and the graph of one replay batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from casper.plots.labels import VariantName
from casper.plots.style import MARKERS, dark_is_more, legend_beside, look, new_figure, panels, set_title
from casper.runs.results import SmallGraph, Spectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_ENDS = 8  # more lines cannot be told apart


@dataclass(frozen=True)
class SpectralVariant:
    """One variant: its spectra by the number of tasks learnt."""

    name: VariantName
    spectra: Mapping[int, Spectrum]


def draw_spectra(variants: Sequence[SpectralVariant], title: str) -> "Figure":
    """Draw a panel per variant and a line per task end: λ_i over i, with λ_p and λ_{p+1} joined by a bar."""
    columns = min(2, len(variants))
    rows = -(-len(variants) // columns)
    figure = new_figure(6.4 * columns, 3.2 * rows + 0.5)
    ends = shown_ends(sorted({end for variant in variants for end in variant.spectra}))
    highest = max(value for variant in variants for value in _drawn_values(variant, ends))
    for axes, variant in zip(panels(figure, len(variants), columns), variants, strict=True):
        for place, end in enumerate(ends):
            if end in variant.spectra:
                shade = 1.0 if len(ends) == 1 else place / (len(ends) - 1)
                _draw(axes, variant.spectra[end], end, shade, MARKERS[place])
        axes.set_ylim(-0.04 * highest, 1.06 * highest)
        axes.set_title(variant.name.lines, fontsize="small")
        axes.set(xlabel="i", ylabel="i-th lowest eigenvalue")
        axes.grid(alpha=0.3)
        legend_beside(axes, "gap after the p-th (bar)", "x-small")
    set_title(figure, title)
    return figure


def shown_ends(ends: Sequence[int]) -> list[int]:
    """Choose at most eight task ends, evenly, with the first and the last."""
    if len(ends) <= MOST_ENDS:
        return list(ends)
    return [ends[round(place * (len(ends) - 1) / (MOST_ENDS - 1))] for place in range(MOST_ENDS)]


def _drawn_values(variant: SpectralVariant, ends: Sequence[int]) -> list[float]:
    return [value for end in ends if end in variant.spectra for value in variant.spectra[end].eigenvalues] or [1.0]


def _draw(axes: "Axes", spectrum: Spectrum, end: int, shade: float, marker: str) -> None:
    colour, values, p = dark_is_more()(0.25 + 0.75 * shade), spectrum.eigenvalues, spectrum.num_classes
    gap = "-" if spectrum.eigengap is None else f"{spectrum.eigengap:.3f}"
    parts = f", {spectrum.num_components} components" if spectrum.num_components > 1 else ""
    axes.plot(
        range(1, len(values) + 1),
        values,
        color=colour,
        marker=marker,
        markersize=4,
        markevery=max(1, len(values) // 8),
        linewidth=1.2,
        label=f"{end} learnt: {gap} at p = {p}{parts}",
    )
    if 1 <= p < len(values):
        low, high = values[p - 1], values[p]
        # From λ_p up to λ_{p+1}, between them; its feet keep it from being taken for the line's own rise.
        axes.plot([p + 0.5] * 2, [low, high], color="#D55E00", linewidth=2, marker="_", markersize=7, zorder=3)


_BETWEEN, _WITHIN = "#D55E00", "#999999"


@dataclass(frozen=True)
class GraphVariant:
    """One variant: the graph of a replay batch."""

    name: VariantName
    graph: SmallGraph


def draw_latent_graphs(variants: Sequence[GraphVariant], title: str) -> "Figure":
    """Draw for each variant the graph, edges between classes standing out, and under it its spectrum with the gap."""
    figure = new_figure(max(4.2, 3.8 * len(variants)), 6.6)
    grid = figure.subplots(2, len(variants), squeeze=False, height_ratios=(3, 2))
    classes = sorted({label for variant in variants for label in variant.graph.labels})
    highest = max(value for variant in variants for value in variant.graph.eigenvalues)
    for (above, below), variant in zip(grid.T, variants, strict=True):
        _draw_graph(above, variant.graph, {label: place for place, label in enumerate(classes)})
        above.set_title(f"{variant.name.lines}\n{_crossing_text(variant.graph)}", fontsize="small")
        _draw_spectrum(below, variant.graph)
        below.set_ylim(-0.05, 1.05 * highest)
    grid[1][0].set_ylabel("i-th lowest eigenvalue")
    _legend(figure)
    set_title(figure, title)
    return figure


def crossing(graph: SmallGraph) -> int:
    """Count the edges between different classes."""
    return sum(graph.labels[i] != graph.labels[j] for i, j in graph.edges)


def _crossing_text(graph: SmallGraph) -> str:
    return f"{crossing(graph)} of {len(graph.edges)} edges join different classes"


def _draw_graph(axes: "Axes", graph: SmallGraph, places: Mapping[int, int]) -> None:
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


def _draw_spectrum(axes: "Axes", graph: SmallGraph) -> None:
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
