from casper.plots.embeddings import EmbeddedVariant, LabelledPoints, draw_embeddings, shown_classes
from casper.plots.labels import VariantName


def picture(classes, purity=80.0, first=0):
    labels = tuple(first + place % classes for place in range(3 * classes))
    return LabelledPoints(tuple((place, 0.5 * place) for place in range(3 * classes)), labels, purity)


def variants():
    return [
        EmbeddedVariant(VariantName("ER"), {5: picture(50, 61.26), 10: picture(100, 50.0)}),
        EmbeddedVariant(VariantName("ER", "CaSpeR"), {5: picture(50, 83.06)}),
    ]


def test_rows_are_variants_and_columns_task_ends():
    axes = draw_embeddings(variants(), "title").axes
    titles = [own.get_title() for own in axes]
    assert titles == ["after task 5\npurity 61.3 %", "after task 10\npurity 50.0 %", "purity 83.1 %", "not embedded"]
    assert [own.get_ylabel() for own in axes] == ["ER", "", "ER + CaSpeR", ""]
    assert [own.axison for own in axes] == [True, True, True, False]


def test_every_point_is_drawn_once_and_in_the_colour_of_its_class():
    first, later, *_ = draw_embeddings(variants(), "title").axes
    assert [len(group.get_offsets()) for group in first.collections] == [150 - 8 * 3] + [3] * 8
    assert [len(group.get_offsets()) for group in later.collections] == [300 - 8 * 3] + [3] * 8
    assert first.collections[2].get_offsets().tolist() == [[place, 0.5 * place] for place in (6, 56, 106)]
    for group, same in zip(first.collections, later.collections, strict=True):
        assert group.get_facecolor().tolist() == same.get_facecolor().tolist()
    assert len({tuple(group.get_facecolor()[0]) for group in first.collections}) == 9
    assert len({group.get_paths()[0].vertices.tobytes() for group in first.collections[1:]}) == 8


def test_classes_are_chosen_once_and_evenly_among_those_in_every_picture():
    assert shown_classes(variants()) == [0, 6, 12, 18, 25, 31, 37, 43]
    assert shown_classes([EmbeddedVariant(VariantName("ER"), {1: picture(3)})]) == [0, 1, 2]
    apart = [EmbeddedVariant(VariantName("ER"), {1: picture(2), 2: picture(2, first=2)})]
    assert shown_classes(apart) == [0, 1, 2, 3]


def test_the_legend_names_classes():
    (legend,) = draw_embeddings(variants(), "title").legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == [f"class {label}" for label in (0, 6, 12, 18, 25, 31, 37, 43)] + ["other classes"]


def test_one_picture_is_whole():
    figure = draw_embeddings([EmbeddedVariant(VariantName("A method " * 9), {10: picture(100)})], "title " * 30)
    figure.draw_without_rendering()
    (axes,), (legend,) = figure.axes, figure.legends
    assert legend.get_window_extent().y1 < axes.get_window_extent().y0
    box = axes.get_tightbbox()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.bbox.y1
