import math

from casper.plots.functional_maps import MappedVariant, draw_functional_maps, energy_text, visible
from casper.plots.labels import VariantName


def mapped(method, added="", components=(1, 1), energies=(9.0,), largest=0.5):
    return MappedVariant(
        VariantName(method, added), ((-largest, 0.15), (-0.2, 0.1)), (5, 10), energies, num_components=components
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
