"""Spectra of latent graphs over tasks: the lowest eigenvalues at each task end, with the gap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from casper.plots.labels import VariantName
from casper.plots.style import MARKERS, dark_is_more, legend_beside, new_figure, panels, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ENDS = 8  # more lines cannot be distinguished


@dataclass(frozen=True)
class Eigenvalues:
    """The lowest eigenvalues of a graph, ascending, and its gap λ_{p+1} - λ_p (p: the number of classes).

    Example:
        >>> from casper.plots import Eigenvalues
        >>> spectrum = Eigenvalues((0.0, 0.25, 1.0), num_classes=2, eigengap=0.75)
        >>> spectrum.values[2] - spectrum.values[1] == spectrum.eigengap
        True
    """

    values: tuple[float, ...]
    num_classes: int
    eigengap: float | None = None
    num_components: int = 1


@dataclass(frozen=True)
class SpectralVariant:
    """One variant: its spectra by the number of tasks learned.

    Example:
        >>> from casper.plots import Eigenvalues, SpectralVariant, VariantName
        >>> variant = SpectralVariant(VariantName("ER"), {1: Eigenvalues((0.0, 0.25, 1.0), 2, 0.75)})
        >>> variant.spectra[1].eigengap
        0.75
    """

    name: VariantName
    spectra: Mapping[int, Eigenvalues]


def draw_spectra(variants: Sequence[SpectralVariant], title: str) -> "Figure":
    """Draw a panel per variant and a line per task end: λ_i over i, with λ_p and λ_{p+1} joined by a bar.

    Example:
        >>> from casper.plots import Eigenvalues, SpectralVariant, VariantName, draw_spectra
        >>> variant = SpectralVariant(VariantName("ER"), {1: Eigenvalues((0.0, 0.25, 1.0), 2, 0.75)})
        >>> figure = draw_spectra([variant], "Digits")
        >>> figure.axes[0].get_legend().get_texts()[0].get_text()
        '1 learned: 0.750 at p = 2'
    """
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
    return [value for end in ends if end in variant.spectra for value in variant.spectra[end].values] or [1.0]


def _draw(axes: "Axes", spectrum: Eigenvalues, end: int, shade: float, marker: str) -> None:
    colour, values, p = dark_is_more()(0.25 + 0.75 * shade), spectrum.values, spectrum.num_classes
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
        label=f"{end} learned: {gap} at p = {p}{parts}",
    )
    if 1 <= p < len(values):
        low, high = values[p - 1], values[p]
        # From λ_p up to λ_{p+1}, between them; the caps distinguish it from a segment of the line.
        axes.plot([p + 0.5] * 2, [low, high], color="#D55E00", linewidth=2, marker="_", markersize=7, zorder=3)
