import pytest

from casper.plots.labels import VariantName
from casper.plots.spectra import Eigenvalues, SpectralVariant, draw_spectra, shown_ends


def spectrum(p=2, values=(0.0, 0.1, 0.5, 0.6), components=1):
    gap = values[p] - values[p - 1] if p < len(values) else None
    return Eigenvalues(values, p, gap, components)


def test_a_panel_per_variant_and_a_line_per_task_end():
    first = SpectralVariant(VariantName("ER"), {5: spectrum(), 10: spectrum(3, components=2)})
    figure = draw_spectra([first, SpectralVariant(VariantName("ER", "CaSpeR"), {10: spectrum(3)})], "title")
    assert [axes.get_title() for axes in figure.axes] == ["ER", "ER + CaSpeR"]
    labels = [[text.get_text() for text in axes.get_legend().get_texts()] for axes in figure.axes]
    assert labels[0] == ["5 learned: 0.400 at p = 2", "10 learned: 0.100 at p = 3, 2 components"]
    assert labels[1] == ["10 learned: 0.100 at p = 3"]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


def test_eigenvalues_over_their_number_and_the_gap_between_two():
    (axes,) = draw_spectra([SpectralVariant(VariantName("ER"), {5: spectrum()})], "title").axes
    line, bar = axes.lines
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([1, 2, 3, 4], [0.0, 0.1, 0.5, 0.6])
    assert (list(bar.get_xdata()), list(bar.get_ydata())) == ([2.5, 2.5], [0.1, 0.5])


@pytest.mark.parametrize("p", [0, 4, 9])
def test_a_gap_beyond_the_eigenvalues_is_not_drawn(p):
    own = Eigenvalues((0.0, 0.1, 0.5, 0.6), p)
    (axes,) = draw_spectra([SpectralVariant(VariantName("ER"), {5: own})], "title").axes
    assert len(axes.lines) == 1
    assert axes.get_legend().get_texts()[0].get_text() == f"5 learned: - at p = {p}"


def test_lines_differ_in_shade_and_marker():
    own = SpectralVariant(VariantName("ER"), {end: spectrum() for end in range(1, 21)})
    (axes,) = draw_spectra([own], "title").axes
    lines = [line for line in axes.lines if line.get_label().startswith(tuple("0123456789"))]
    assert len(lines) == 8
    assert len({line.get_marker() for line in lines}) == 8
    assert len({line.get_color() for line in lines}) == 8


def test_of_many_task_ends_some_are_chosen_evenly():
    assert shown_ends([1, 2, 3]) == [1, 2, 3]
    assert shown_ends(range(1, 21)) == [1, 4, 6, 9, 12, 15, 17, 20]
