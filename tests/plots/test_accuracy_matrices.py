import matplotlib.colors

from casper.plots.accuracy_matrices import MatrixVariant, draw_accuracy_matrices, mean_matrix
from casper.plots.labels import VariantName

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
