import pytest

from casper.plots.labels import VariantName
from casper.plots.spectra import GraphVariant, SpectralVariant, crossing, draw_latent_graphs, draw_spectra, shown_ends
from casper.runs.results import SmallGraph, Spectrum
from finished import analysis_of


def spectrum(p=2, values=(0.0, 0.1, 0.5, 0.6), components=1):
    gap = values[p] - values[p - 1] if p < len(values) else None
    return Spectrum(eigenvalues=values, num_classes=p, eigengap=gap, num_components=components)


def test_a_panel_per_variant_and_a_line_per_task_end():
    first = SpectralVariant(VariantName("ER"), {5: spectrum(), 10: spectrum(3, components=2)})
    figure = draw_spectra([first, SpectralVariant(VariantName("ER", "CaSpeR"), {10: spectrum(3)})], "title")
    assert [axes.get_title() for axes in figure.axes] == ["ER", "ER + CaSpeR"]
    labels = [[text.get_text() for text in axes.get_legend().get_texts()] for axes in figure.axes]
    assert labels[0] == ["5 learnt: 0.400 at p = 2", "10 learnt: 0.100 at p = 3, 2 components"]
    assert labels[1] == ["10 learnt: 0.100 at p = 3"]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


def test_eigenvalues_over_their_number_and_the_gap_between_two():
    (axes,) = draw_spectra([SpectralVariant(VariantName("ER"), {5: spectrum()})], "title").axes
    line, bar = axes.lines
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([1, 2, 3, 4], [0.0, 0.1, 0.5, 0.6])
    assert (list(bar.get_xdata()), list(bar.get_ydata())) == ([2.5, 2.5], [0.1, 0.5])


@pytest.mark.parametrize("p", [0, 4, 9])
def test_a_gap_beyond_the_eigenvalues_is_not_drawn(p):
    own = Spectrum(eigenvalues=(0.0, 0.1, 0.5, 0.6), num_classes=p)
    (axes,) = draw_spectra([SpectralVariant(VariantName("ER"), {5: own})], "title").axes
    assert len(axes.lines) == 1
    assert axes.get_legend().get_texts()[0].get_text() == f"5 learnt: - at p = {p}"


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


def variant(name, end):
    layout = analysis_of(embed=(1, 2))["task_ends"][end - 1]["replay_batch"]
    return GraphVariant(VariantName(name), SmallGraph.model_validate(layout))


def test_edges_between_classes_are_counted_and_stand_out_without_colours():
    first, second = variant("ER", 1), variant("DER++", 2)
    assert (crossing(first.graph), crossing(second.graph)) == (1, 2)
    figure = draw_latent_graphs([first, second], "title")
    graphs, spectra = figure.axes[:2], figure.axes[2:]
    assert [axes.get_title() for axes in graphs] == [
        "ER\n1 of 2 edges join different classes",
        "DER++\n2 of 3 edges join different classes",
    ]
    dashes = [line.get_linestyle() for line in graphs[1].lines]
    assert dashes == ["-", "--", "--"]
    assert graphs[1].lines[0].get_xdata().tolist() == [0.0, 1.0]
    assert [len(points.get_offsets()) for points in graphs[0].collections] == [2, 2]
    assert spectra[0].lines[0].get_ydata().tolist() == [0.0, 0.1, 1.2, 1.4]
    assert spectra[0].lines[-1].get_ydata().tolist() == [0.1, 1.2]
    assert [text.get_text() for text in spectra[1].texts] == ["gap behind the 2nd: 1.000"]


def test_spectra_share_their_scale():
    figure = draw_latent_graphs([variant("ER", 1), variant("DER++", 2)], "title")
    assert figure.axes[2].get_ylim() == figure.axes[3].get_ylim()


def test_without_a_gap_none_is_marked():
    graph = variant("ER", 1).graph.model_copy(update={"eigengap": None, "num_classes": 4})
    figure = draw_latent_graphs([GraphVariant(VariantName("ER"), graph)], "title")
    assert not figure.axes[1].texts
