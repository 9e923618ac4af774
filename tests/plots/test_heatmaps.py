import math

import matplotlib.colors

from casper.plots.heatmaps import (
    MappedVariant,
    MatrixVariant,
    draw_accuracy_matrices,
    draw_functional_maps,
    energy_text,
    mean_matrix,
    visible,
)
from casper.plots.labels import VariantName
from casper.runs.results import FunctionalMap

MATRIX = [[97.26, None], [0.0, 52.0]]


def test_the_mean_over_seeds_is_missing_where_one_is():
    assert mean_matrix([MATRIX, [[90.0, None], [2.0, None]]]) == [[93.63, None], [1.0, None]]


def test_numbers_are_written_where_there_are_any():
    figure = draw_accuracy_matrices([MatrixVariant(VariantName("ER"), MATRIX)], "title")
    axes = figure.axes[0]
    written = {text.get_position(): text.get_text() for text in axes.texts}
    assert written == {(0, 0): "97.3", (0, 1): "0.0", (1, 1): "52.0"}
    assert axes.images[0].get_array().filled(-1).tolist() == [[97.26, -1.0], [0.0, 52.0]]
    assert axes.images[0].get_clim() == (0, 100)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2"]
    assert axes.get_title() == "ER"


def test_numbers_stand_out_from_their_ground():
    ramp = [[5.0 * (row + column) for column in range(11)] for row in range(11)]
    axes = draw_accuracy_matrices([MatrixVariant(VariantName("ER"), ramp)], "title").axes[0]
    image = axes.images[0]
    for text in axes.texts:
        red, green, blue = image.cmap(image.norm(float(text.get_text())))[:3]
        (ink, *_) = matplotlib.colors.to_rgb(text.get_color())
        assert abs(0.299 * red + 0.587 * green + 0.114 * blue - ink) > 0.45


def test_many_tasks_have_fewer_decimals_and_larger_panels():
    def size(tasks):
        variant = MatrixVariant(VariantName("ER"), [[50.25] * tasks] * tasks)
        figure = draw_accuracy_matrices([variant], "title")
        return figure.axes[0].texts[0].get_text(), figure.get_figwidth()

    assert size(10)[0] == "50.2"
    assert size(20)[0] == "50"
    assert size(20)[1] > 1.5 * size(10)[1]


def test_a_panel_per_variant_and_one_bar():
    variants = [MatrixVariant(VariantName(name), MATRIX) for name in ("A", "B", "C")]
    figure = draw_accuracy_matrices(variants, "title")
    assert [axes.get_title() for axes in figure.axes if axes.axison] == ["A", "B", "C", ""]
    assert figure.axes[-1].get_ylabel() == "accuracy (%)"


def mapped(method, added="", components=(1, 1), energies=(9.0,), largest=0.5):
    own = {"from": 5, "to": 10, "off_diagonal_energy": 9.0, "num_components": components}
    return MappedVariant(
        VariantName(method, added), FunctionalMap(**own, matrix=((-largest, 0.15), (-0.2, 0.1))), energies
    )


def shown(figure):
    return {axes.get_title().splitlines()[0]: axes for axes in figure.axes if axes.images}


def test_methods_across_and_additions_down():
    variants = [mapped("ER", "CaSpeR"), mapped("ER"), mapped("DER++")]
    figure = draw_functional_maps(variants, "title")
    places = {name: axes.get_subplotspec() for name, axes in shown(figure).items()}
    assert {name: (own.rowspan.start, own.colspan.start) for name, own in places.items()} == {
        "ER": (0, 0),
        "DER++": (0, 1),
        "ER + CaSpeR": (1, 0),
    }
    assert [axes.axison for axes in figure.axes[:4]] == [True, True, True, False]


def test_sizes_are_shown_and_small_ones_hidden():
    figure = draw_functional_maps([mapped("ER")], "title")
    (axes,) = shown(figure).values()
    drawn = axes.images[0].get_array()
    assert drawn.mask.tolist() == [[False, True], [False, True]]
    assert drawn.compressed().tolist() == [0.5, 0.2]
    (row, _) = visible([[-0.15, 0.16], [0.0, 0.0]])
    assert math.isnan(row[0])
    assert row[1] == 0.16


def test_one_scale_and_one_bar_for_all():
    figure = draw_functional_maps([mapped("ER"), mapped("DER++", largest=1.5)], "title")
    assert {axes.images[0].get_clim() for axes in shown(figure).values()} == {(0.15, 1.5)}
    assert len(figure.axes) == 3
    assert "0.15" in figure.axes[-1].get_ylabel()


def test_energies_over_seeds():
    assert energy_text([9.0]) == "OD_E = 9.00"
    assert energy_text([9.0, 10.0, 11.0]) == "OD_E = 10.00 ± 1.00"
    figure = draw_functional_maps([mapped("ER", energies=(8.0, 10.0))], "title")
    assert figure.axes[0].get_title() == "ER\nOD_E = 9.00 ± 1.41"


def test_several_components_are_told():
    figure = draw_functional_maps([mapped("ER"), mapped("DER++", components=(3, 1))], "title")
    panels = shown(figure).values()
    later = "eigenfunctions after task 10"
    assert [axes.get_xlabel() for axes in panels] == [later, f"{later}\ncomponents: 3 and 1"]
    assert {axes.get_ylabel() for axes in panels} == {"eigenfunctions after task 5"}
