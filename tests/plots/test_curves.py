from io import BytesIO

import matplotlib.figure
import pytest

from casper.plots import accuracy_over_tasks
from casper.plots.curves import Curve, draw_over_tasks, paired_looks
from casper.plots.labels import VariantName

CURVES = {"plain": [[100.0, 80.0], [100.0, 60.0]], "other": [[100.0, 90.0], [90.0, 70.0]]}


def test_a_picture_is_written(tmp_path):
    accuracy_over_tasks(CURVES, "title", tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_the_curves_are_the_means_and_the_legend_tells_the_last(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    accuracy_over_tasks(CURVES, "title", tmp_path / "figure.png")
    (axes,) = drawn[0].axes
    means = [container.lines[0].get_ydata().tolist() for container in axes.containers]
    assert means == [[100.0, 70.0], [95.0, 80.0]]
    assert [entry.get_text() for entry in axes.get_legend().get_texts()] == ["plain: 70.0", "other: 80.0"]
    assert axes.get_xlabel()
    assert axes.get_ylabel()


def test_a_band_is_one_standard_deviation_around_the_mean(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    accuracy_over_tasks({"plain": [[100.0, 80.0], [100.0, 60.0]]}, "title", tmp_path / "figure.png", band=True)
    (axes,) = drawn[0].axes
    corners = axes.collections[0].get_paths()[0].vertices
    at_two = sorted({round(y, 3) for x, y in corners if x == 2})
    assert at_two == [round(70 - 200**0.5, 3), round(70 + 200**0.5, 3)]
    assert axes.get_legend().get_title().get_text().splitlines() == [
        "numbers: mean over seeds after the last task",
        "bands: ± one standard deviation",
    ]
    (curve,) = axes.containers
    assert curve.lines[0].get_xdata().tolist() == [1, 2]  # not shifted
    assert not curve.has_yerr


def test_one_seed_is_enough(tmp_path):
    accuracy_over_tasks({"plain": [[100.0, 80.0]]}, "title", tmp_path / "figure.png")
    assert (tmp_path / "figure.png").exists()


def test_a_picture_in_an_open_file_is_the_same_each_time():
    contents = []
    for _ in range(2):
        file = BytesIO()
        accuracy_over_tasks(CURVES, "title", file)
        contents.append(file.getvalue())
    assert contents[0].startswith(b"<?xml")
    assert contents[0] == contents[1]


def curve(method, added="", values=((3.0, 1.0), (5.0, 2.0)), tasks=(5, 10)):
    return Curve(VariantName(method, added), tasks, values)


def lines_of(figure):
    return [container.lines[0] for container in figure.axes[0].containers]


def test_means_and_deviations_at_the_task_ends():
    figure = draw_over_tasks([curve("ER"), curve("ER", "CaSpeR", ((4.0, 8.0),))], "sigma", "title", ".2f")
    (axes,) = figure.axes
    assert [line.get_ydata().tolist() for line in lines_of(figure)] == [[4.0, 1.5], [4.0, 8.0]]
    assert [[round(task) for task in line.get_xdata()] for line in lines_of(figure)] == [[5, 10], [5, 10]]
    low, high = axes.containers[0].lines[1]
    assert (high.get_ydata() - low.get_ydata()).tolist() == pytest.approx([2 * 2**0.5, 2 * 0.5**0.5])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ER: 1.50", "ER + CaSpeR: 8.00"]
    assert (axes.get_ylabel(), axes.get_title()) == ("sigma", "title")
    assert axes.get_xticks().tolist() == [5, 10]


def test_pairs_share_colour_and_marker_and_differ_without_colours():
    curves = [curve(method, added) for method in ("ER", "DER++") for added in ("", "forward-only", "CaSpeR")]
    looks = paired_looks([own.name for own in curves])
    plain, control, added = (looks[VariantName("ER", name)] for name in ("", "forward-only", "CaSpeR"))
    assert (plain.dash, plain.fill) == ("--", "none")
    assert (added.dash, added.fill) == ("-", "full")
    assert control.dash not in ("-", "--")
    assert len({(own.colour, own.marker) for own in (plain, control, added)}) == 1
    assert len({(own.marker, own.dash, own.fill) for own in looks.values()}) == 6
    drawn = lines_of(draw_over_tasks(curves, "y", "title"))
    assert drawn[0].get_markerfacecolor() == "white"
    assert drawn[2].get_markerfacecolor() == drawn[2].get_color() == drawn[0].get_color() != drawn[3].get_color()
    assert [line.get_linestyle() for line in drawn[:3]] == ["--", ":", "-"]


def test_with_an_addition_alone_it_is_solid():
    assert paired_looks([VariantName("ER", "CaSpeR")])[VariantName("ER", "CaSpeR")].fill == "full"


def test_several_additions_to_one_method_have_their_own_colours():
    names = [VariantName("ER", "CaSpeR", added_detail=detail) for detail in ("weight=1", "weight=2")]
    looks = paired_looks([VariantName("ER"), *names])
    assert len({own.colour for own in looks.values()}) == 3


def test_many_curves_have_their_legend_beside_them_and_stay_near_their_task():
    figure = draw_over_tasks([curve(f"M{place}") for place in range(30)], "y", "title")
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert axes.get_legend().get_window_extent().x0 > axes.get_window_extent().x1
    assert axes.get_legend().get_window_extent().x1 <= figure.bbox.x1
    assert axes.get_legend().get_window_extent().y0 >= figure.bbox.y0
    assert all(abs(line.get_xdata()[0] - 5) < 0.5 for line in lines_of(figure))


def test_one_task_end_is_a_point_in_the_middle():
    figure = draw_over_tasks([curve("ER", values=((3.0,),), tasks=(10,))], "y", "title")
    assert figure.axes[0].get_xlim() == (9, 11)
