"""Maps between the latent spaces at two task ends: methods across, what is added down (Fig. 3 of the CaSpeR paper)."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import TYPE_CHECKING

from casper.reporting.figures.names import VariantName, additions, bases, broken
from casper.reporting.figures.style import dark_is_more, new_figure, set_title
from casper.runs.results import FunctionalMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

HIDDEN = 0.15  # entries up to this size are not drawn, as in the paper
_SIDE = 2.1  # inches of a panel


@dataclass(frozen=True)
class MappedVariant:
    """One variant: the map of its lowest seed, and OD_E of every seed."""

    name: VariantName
    shown: FunctionalMap
    energies: tuple[float, ...]


def draw_functional_maps(variants: Sequence[MappedVariant], title: str) -> "Figure":
    """Draw |C| of every variant, on one scale, with its energy off the diagonal: less is less change."""
    names = [variant.name for variant in variants]
    methods, added = bases(names), additions(names)
    figure = new_figure(max(_SIDE * len(methods) + 1.2, 4.5), (_SIDE + 0.5) * len(added) + 0.6, compressed=True)
    grid = figure.subplots(len(added), len(methods), squeeze=False)
    for axes in grid.flat:
        axes.set(xticks=[], yticks=[])
        axes.set_axis_off()
    largest = max(1.0, *(abs(value) for variant in variants for line in variant.shown.matrix for value in line))
    for variant in variants:
        row, column = added.index(variant.name.addition), methods.index(variant.name.base)
        axes = grid[row, column]
        axes.set_axis_on()
        image = _draw(axes, variant, largest)
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
    """Take the size of each entry; what is hidden is not a number."""
    return [[abs(value) if abs(value) > HIDDEN else float("nan") for value in row] for row in matrix]


def _draw(axes: "Axes", variant: MappedVariant, largest: float) -> "AxesImage":
    image = axes.imshow(
        visible(variant.shown.matrix), cmap=dark_is_more(), vmin=HIDDEN, vmax=largest, interpolation="nearest"
    )
    parts = ""
    if any(count > 1 for count in variant.shown.num_components):
        parts = f"\ncomponents: {' and '.join(map(str, variant.shown.num_components))}"
    axes.set_xlabel(f"eigenfunctions after task {variant.shown.end}{parts}", fontsize="x-small")
    axes.set_ylabel(f"eigenfunctions after task {variant.shown.start}", fontsize="x-small")
    return image
