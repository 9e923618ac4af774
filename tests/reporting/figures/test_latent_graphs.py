from casper.reporting.figures.latent_graphs import GraphVariant, crossing, draw_latent_graphs
from casper.reporting.figures.names import VariantName
from casper.runs.results import SmallGraph
from finished import analysis_of


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
