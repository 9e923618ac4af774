from dataclasses import replace

from casper.plots.labels import VariantName
from casper.plots.latent_graphs import (
    GraphVariant,
    all_seeds_text,
    crossing,
    draw_edges_between_classes,
    draw_latent_graphs,
)


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
    assert [text.get_text() for text in spectra[1].texts] == ["gap after the 2nd: 1.000"]


def test_spectra_share_their_scale():
    figure = draw_latent_graphs([variant("ER", 1), variant("DER++", 2)], "title")
    assert figure.axes[2].get_ylim() == figure.axes[3].get_ylim()


def test_without_a_gap_none_is_marked():
    figure = draw_latent_graphs([replace(variant("ER", 1), eigengap=None, num_classes=4)], "title")
    assert not figure.axes[1].texts


def test_graphs_side_by_side_have_their_own_count_above_and_that_of_all_seeds_below():
    first, second = variant("ER", 2), variant("DER++", 1)
    figure = draw_edges_between_classes([first, second], [[(2, 3), (4, 5)], [(1, 2)]], "title")
    assert [axes.get_title() for axes in figure.axes] == [
        "ER\n2 of 3 edges join different classes",
        "DER++\n1 of 2 edges join different classes",
    ]
    assert [axes.get_xlabel() for axes in figure.axes] == ["all 2 seeds: 2 + 4 = 6 of 8 edges", ""]
    colours = [[line.get_color() for line in axes.lines] for axes in figure.axes]
    assert colours == [["#999999", "#D55E00", "#D55E00"], ["#999999", "#D55E00"]]
    faces = [[tuple(points.get_facecolor()[0]) for points in axes.collections] for axes in figure.axes]
    assert faces[0] == faces[1]  # a class has one colour in all panels
    assert len(set(faces[0])) == 2
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["edge within a class", "edge between classes", "class 3", "class 7"]


def test_a_picture_of_a_graph_says_what_its_positions_are():
    variants = [variant("ER", 2), variant("DER++", 1)]
    assert [axes.get_xlabel() for axes in draw_latent_graphs(variants, "title").axes[:2]] == [
        "positions: t-SNE of the features"
    ] * 2
    figure = draw_edges_between_classes(variants, [[(2, 3)], [(1, 2)]], "title")
    note = " ".join(figure.legends[0].get_title().get_text().split())
    assert "t-SNE" in note
    assert "random choice" in note
    figure.draw_without_rendering()
    extent = figure.legends[0].get_window_extent()
    assert extent.x0 >= figure.bbox.x0
    assert extent.x1 <= figure.bbox.x1


def test_the_text_of_all_seeds():
    assert all_seeds_text([(0, 7), (3, 8)]) == "all 2 seeds: 0 + 3 = 3 of 15 edges"
