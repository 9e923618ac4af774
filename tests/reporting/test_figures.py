import matplotlib.figure

from casper.reporting import accuracy_over_tasks, averages_so_far

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


def test_one_seed_is_enough(tmp_path):
    accuracy_over_tasks({"plain": [[100.0, 80.0]]}, "title", tmp_path / "figure.png")
    assert (tmp_path / "figure.png").exists()


def test_the_averages_over_the_tasks_met_so_far():
    assert averages_so_far([[90.0, 10.0, None], [70.0, 80.0, 5.0], [30.0, 40.0, 80.0]]) == [90.0, 75.0, 50.0]
    assert averages_so_far([[None, None], [50.0, 60.0]]) == []
    assert averages_so_far([]) == []
