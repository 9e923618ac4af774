from dataclasses import replace

from casper.plots.labels import VariantName
from casper.plots.latent_graphs import GraphVariant, crossing, draw_latent_graphs


def variant(name, between):
    """Two classes of two points, an edge within the first and some between the two."""
    points = ((0.0, 0.0), (1.0, 0.0), (5.0, 5.0), (6.0, 5.0))
    edges = ((0, 1), (0, 2), (1, 3))[: 1 + between]
    lowest = 0.1 * between
    return GraphVariant(VariantName(name), points, (3, 3, 7, 7), edges, (0.0, lowest, 1.2, 1.4), 2, 1.2 - lowest)


def test_edges_between_classes_are_counted_and_stand_out_without_colours():
    first, second = variant("ER", 1), variant("DER++", 2)
    assert (crossing(first), crossing(second)) == (1, 2)
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
    figure = draw_latent_graphs([replace(variant("ER", 1), eigengap=None, num_classes=4)], "title")
    assert not figure.axes[1].texts
