"""Functional maps between two task ends as heat maps (Fig. 3 of the CaSpeR paper)."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import TYPE_CHECKING

from casper.plots.labels import VariantName, additions, bases, broken
from casper.plots.style import dark_is_more, new_figure, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

HIDDEN = 0.15  # entries up to this size are not drawn, as in the paper
_SIDE = 2.1  # inches of a panel


@dataclass(frozen=True)
class MappedVariant:
    """One variant.

    Attributes:
        name: Its name.
        matrix: The map C between the spectra at two task ends, of one seed.
        ends: The two task ends, counted in tasks learned.
        energies: OD_E, the energy of C off its diagonal, of every seed.
        num_components: The number of components of the graph at each of the two task ends; empty if not known.

    Example:
        >>> from casper.plots import MappedVariant, VariantName
        >>> variant = MappedVariant(VariantName("ER"), [[1.0, 0.2], [0.2, 1.0]], ends=(1, 2), energies=(0.08,))
        >>> variant.ends, variant.energies
        ((1, 2), (0.08,))
    """

    name: VariantName
    matrix: Sequence[Sequence[float]]
    ends: tuple[int, int]
    energies: tuple[float, ...]
    num_components: tuple[int, ...] = ()


def draw_functional_maps(variants: Sequence[MappedVariant], title: str) -> "Figure":
    """Draw |C| of every variant, on one scale, with its energy off the diagonal; lower means less change.

    Example:
        >>> from casper.plots import MappedVariant, VariantName, draw_functional_maps
        >>> variant = MappedVariant(VariantName("ER"), [[1.0, 0.2], [0.2, 1.0]], ends=(1, 2), energies=(0.08,))
        >>> figure = draw_functional_maps([variant], "Digits")
        >>> len(figure.axes)  # a panel and the scale of the colours
        2
    """
    names = [variant.name for variant in variants]
    methods, added = bases(names), additions(names)
    figure = new_figure(max(_SIDE * len(methods) + 1.2, 4.5), (_SIDE + 0.5) * len(added) + 0.6, compressed=True)
    grid = figure.subplots(len(added), len(methods), squeeze=False)
    for axes in grid.flat:
        axes.set(xticks=[], yticks=[])
        axes.set_axis_off()
    largest = max(1.0, *(abs(value) for variant in variants for line in variant.matrix for value in line))
    for variant in variants:
        row, column = added.index(variant.name.addition), methods.index(variant.name.base)
        axes = grid[row, column]
        axes.set_axis_on()
        image = _draw_map(axes, variant, largest)
        axes.set_title(broken(variant.name.text, 24) + f"\n{energy_text(variant.energies)}", fontsize="small")
    bar = figure.colorbar(image, ax=grid, fraction=0.05, aspect=30, pad=0.02)
    bar.set_label(f"|C|; white: {HIDDEN} or less", fontsize="small")
    set_title(figure, title)
    return figure


def energy_text(energies: Sequence[float]) -> str:
    """Write OD_E: mean and standard deviation over seeds."""
    deviation = f" ± {stdev(energies):.2f}" if len(energies) > 1 else ""
    return f"OD_E = {mean(energies):.2f}{deviation}"


def visible(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """Take the absolute value of each entry; small ones, which are hidden, become NaN."""
    return [[abs(value) if abs(value) > HIDDEN else float("nan") for value in row] for row in matrix]


def _draw_map(axes: "Axes", variant: MappedVariant, largest: float) -> "AxesImage":
    shades = visible(variant.matrix)
    image = axes.imshow(shades, cmap=dark_is_more(), vmin=HIDDEN, vmax=largest, interpolation="nearest")
    parts = ""
    if any(count > 1 for count in variant.num_components):
        parts = f"\ncomponents: {' and '.join(map(str, variant.num_components))}"
    axes.set_xlabel(f"eigenfunctions after task {variant.ends[1]}{parts}", fontsize="x-small")
    axes.set_ylabel(f"eigenfunctions after task {variant.ends[0]}", fontsize="x-small")
    return image
