from pathlib import Path

import pytest

from casper.config import ConfigError
from casper.reports import FIGURES, draw_figure
from casper.reports.figures import accuracy_matrix_of, check_figure_path
from casper.reports.grouping import MissingDataError
from finished import analysis_of as made_analysis
from finished import finished_run


@pytest.mark.parametrize("name", ["a.jpg", "a", "png"])
def test_other_kinds_of_files_are_refused(name):
    check_figure_path(Path("a.PNG"))
    with pytest.raises(ConfigError) as error:
        check_figure_path(Path(name))
    assert str(error.value) == f"--out must end in .png, .pdf, .svg, but got '{name}'"


def test_a_matrix_and_what_is_none():
    assert accuracy_matrix_of(finished_run({}, 60.0)) == [[70.0, 69.0], [70.0, 69.0]]
    with pytest.raises(MissingDataError, match="an accuracy matrix"):
        accuracy_matrix_of(finished_run({}, 60.0, class_il={"accuracy_matrix": [[1.0], [2.0, 3.0]]}))


ANALYSED = ["sigma", "sigma-share", "tsne", "graph", "fmaps", "spectra"]


def pair(seeds=2, analysis=True, **changes):
    """ER and ER with CaSpeR, whose sigma is half and whose time is twice."""
    return [
        finished_run(
            {"method": "er", "regularizer": [name], "seed": seed},
            60.0 + 2 * seed,
            made_analysis(sigma=10 * factor + seed, embed=(1, 2), energy=9.0 + seed) if analysis else None,
            **{"seconds": 100.0 / factor, **changes},
        )
        for name, factor in (("none", 1.0), ("casper", 0.5))
        for seed in range(seeds)
    ]


def curves(figure):
    return [container.lines[0].get_ydata().tolist() for container in figure.axes[0].containers]


def complaint(name, runs):
    with pytest.raises(ConfigError) as error:
        draw_figure(name, runs, warn=pytest.fail)
    return str(error.value)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_and_names_its_variants(name):
    told = []
    figure = draw_figure(name, pair(), warn=told.append)
    figure.draw_without_rendering()
    legends = [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    texts = [text.get_text() for legend in legends for text in legend.get_texts()]
    for axes in figure.axes:
        texts += [axes.get_title(), axes.get_ylabel()]
        texts += [label.get_text() for label in axes.get_xticklabels()]
    texts = [text.partition(":")[0].partition("\n")[0] for text in texts]
    assert {"ER"} <= set(texts)
    assert {"ER + CaSpeR", "+ CaSpeR"} & set(texts)
    assert told == []


def test_seeds_of_two_versions_of_the_code_are_not_averaged_silently():
    told = []
    runs = [finished_run({"seed": seed}, 60.0, code=code) for seed, code in enumerate(["1.0 abc", "1.0 xyz"])]
    draw_figure("accuracy", runs, warn=told.append)
    versions = "1.0 abc (seed 0); 1.0 xyz (seed 1)"
    assert told == [f"er-ace + casper (buffer 50): the mean is over 2 versions of the code: {versions}"]


def test_accuracy_and_forgetting():
    # Each run's matrix is [[a + 10, a + 9], [a + 10, a + 9]].
    assert curves(draw_figure("accuracy", pair())) == [[71.0, 70.5], [71.0, 70.5]]
    assert curves(draw_figure("forgetting", pair())) == [[0.0], [0.0]]
    falling = {"accuracy_matrix": [[90.0, None], [60.0, 80.0]]}
    figure = draw_figure("forgetting", pair(class_il=falling))
    assert curves(figure) == [[30.0], [30.0]]
    assert figure.axes[0].get_xticks().tolist() == [2]


def test_sigma_and_its_share():
    figure = draw_figure("sigma", pair())
    assert curves(figure) == [[10.5, 21.0], [5.5, 11.0]]
    least = figure.axes[0].lines[-1]
    assert (least.get_xdata().tolist(), least.get_ydata().tolist()) == ([1, 2], [2.0, 4.0])
    assert figure.axes[0].get_legend().get_texts()[0].get_text() == "least possible: 4"
    shares = curves(draw_figure("sigma-share", pair()))
    assert shares == [pytest.approx([0.105, 0.21]), pytest.approx([0.055, 0.11])]


def test_tsne_shows_the_lowest_seed():
    figure = draw_figure("tsne", pair())
    assert [axes.get_title() for axes in figure.axes[:2]] == [
        "after task 1\npurity 82.0 %",
        "after task 2\npurity 84.0 %",
    ]
    points = [point for group in figure.axes[0].collections for point in group.get_offsets().tolist()]
    assert sorted(points) == [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0], [4.0, 0.0], [5.0, 1.0]]
    assert len(figure.axes) == 4
    assert "lowest drawn" in figure.get_suptitle().replace("\n", " ")


def test_functional_maps_average_the_energy():
    figure = draw_figure("fmaps", pair())
    axes = figure.axes[0]
    assert axes.get_title() == "ER\nOD_E = 9.50 ± 0.71"
    assert axes.get_xlabel() == "eigenfunctions after task 2\ncomponents: 1 and 2"
    assert axes.get_ylabel() == "eigenfunctions after task 1"
    assert axes.images[0].get_array().filled(0.0).tolist() == [[0.9, 0.0], [0.2, 0.8]]
    assert figure.get_suptitle().startswith("Functional maps from task end 1 to 2 on\nsplit-digits")


def test_of_several_functional_maps_the_most_common_is_shown_and_the_others_named():
    told = []
    first, second = pair(1)
    first.analysis.update(made_analysis(maps=((1, 2), (2, 3))))
    second.analysis.update(made_analysis(maps=((1, 2),)))
    figure = draw_figure("fmaps", [first, second], warn=told.append)
    assert "from task end 1 to 2" in figure.get_suptitle()
    assert told == ["the figure has the functional maps from task end 1 to 2; there are also 2 to 3"]


def test_a_run_with_other_functional_maps_is_left_out():
    told = []
    runs = pair(2)
    runs[0].analysis.update(made_analysis(maps=((2, 3),)))
    draw_figure("fmaps", runs, warn=told.append)
    assert told[-1] == (
        f"left out, without a functional map from task end 1 to 2 (it was not requested): {runs[0].name}"
    )


def test_spectra_with_their_gaps_and_components():
    axes = draw_figure("spectra", [finished_run({"method": "er"}, 60.0, made_analysis())]).axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["1 learned: 0.700 at p = 2", "2 learned: 0.500 at p = 4, 2 components"]
    assert axes.lines[0].get_ydata().tolist() == [0.0, 0.1, 0.8, 0.9]


def test_spectra_of_many_task_ends():
    told = []
    run = finished_run({"method": "er"}, 60.0, made_analysis(range(1, 11)))
    figure = draw_figure("spectra", [run], warn=told.append)
    assert told == ["the figure has 8 of 10 task ends"]
    assert len(figure.axes[0].get_legend().get_texts()) == 8


def test_the_matrix_is_a_mean_over_seeds():
    figure = draw_figure("matrix", pair())
    assert [text.get_text() for text in figure.axes[0].texts] == ["71.0", "70.0", "71.0", "70.0"]


def test_a_matrix_of_another_size_is_left_out():
    told = []
    runs = [pair(1)[0], finished_run({"method": "er", "regularizer": ["none"], "seed": 1}, 60.0, tasks=3)]
    figure = draw_figure("matrix", runs, warn=told.append)
    assert len(figure.axes[0].texts) == 4
    assert told == ["left out: seeds of ER whose number of tasks is not 2"]


def test_times_are_those_of_training():
    axes = draw_figure("times", pair()).axes[0]
    assert [bar.get_height() for bar in axes.patches] == [pytest.approx(100 / 60), pytest.approx(200 / 60)]
    assert [text.get_text() for text in axes.texts] == ["", "×2.00"]
    assert complaint("times", pair(seconds=float("nan"))) == (
        "RUNS must have a time, but got 4 runs without a time (`seconds.train` of metrics.json is missing)"
    )


def test_a_title_of_ones_own():
    assert draw_figure("accuracy", pair(), "Mine").axes[0].get_title() == "Mine"
    assert draw_figure("matrix", pair(), "Mine").get_suptitle() == "Mine"


def test_an_unknown_name():
    assert complaint("acuracy", pair()).startswith(
        "unknown figure 'acuracy'; did you mean 'accuracy'? valid: accuracy, f"
    )


@pytest.mark.parametrize("name", ANALYSED)
def test_without_an_analysis(name):
    assert complaint(name, pair(analysis=False)) == (
        "RUNS must have an analysis, but got 4 runs without an analysis "
        "(create it with `casper analyse RUN`, or run with --analyse)"
    )
    told = []
    runs = pair(1)
    draw_figure(name, [*runs, finished_run({"method": "er-ace"}, 1.0)], warn=told.append)
    assert len(told) == 1
    assert told[0].startswith(
        "left out, without an analysis (create it with `casper analyse RUN`, or run with --analyse): split"
    )


@pytest.mark.parametrize("name", ANALYSED)
def test_an_analysis_of_another_layout(name):
    run = finished_run({}, 60.0, {"task_ends": [{"tasks_learnt": "one"}]})
    assert complaint(name, [run]).startswith("RUNS must have a readable analysis, but got 1 run without")


@pytest.mark.parametrize("name", ["sigma", "sigma-share", "spectra"])
def test_without_a_memory(name):
    run = finished_run({"method": "finetune", "regularizer": ["none"]}, 60.0, made_analysis(memory=False))
    assert complaint(name, [run]) == (
        "RUNS must have a graph of its memory, but got 1 run without a graph of its memory "
        "(the memory needs more items than neighbours of each)"
    )


def test_without_an_embedding_or_a_map():
    run = finished_run({}, 60.0, made_analysis(maps=()))
    assert complaint("tsne", [run]).endswith(
        "1 run without an embedding (create it with `casper analyse RUN --embed`; the memory needs more than 30 items)"
    )
    assert complaint("fmaps", [run]).startswith("RUNS must have a functional map, but got 1 run without")


@pytest.mark.parametrize("name", ["accuracy", "forgetting"])
def test_joint_has_no_curve(name):
    values = {"method": "joint", "regularizer": ["none"]}
    joint = finished_run(values, 60.0, class_il={"accuracy_matrix": [[None, None], [50.0, 60.0]]})
    assert "joint" in complaint(name, [joint])
    told = []
    assert len(curves(draw_figure(name, [joint, *pair()], warn=told.append))) == 2
    assert told[0].endswith(joint.name)
    assert draw_figure("matrix", [joint]).axes[0].texts[0].get_text() == "50.0"


@pytest.mark.parametrize("matrix", [[], [[50.0], [40.0, 50.0]]])
def test_a_matrix_that_is_not_whole(matrix):
    run = finished_run({}, 60.0, class_il={"accuracy_matrix": matrix})
    for name in ("accuracy", "forgetting", "matrix"):
        assert "an accuracy matrix" in complaint(name, [run])


def test_seeds_that_were_measured_at_different_task_ends():
    told = []
    runs = [
        finished_run({"method": "er", "seed": seed}, 60.0, made_analysis(ends))
        for seed, ends in enumerate([(1, 2), (2,)])
    ]
    figure = draw_figure("sigma", runs, warn=told.append)
    assert curves(figure) == [[20.0]]
    assert told == ["ER + CaSpeR: the figure has 1 task end that all its seeds share"]
    runs[1].analysis.update(made_analysis((3,)))
    with pytest.raises(ConfigError, match="must share at least one task end"):
        draw_figure("sigma", runs, warn=told.append)


@pytest.mark.parametrize("name", FIGURES)
def test_streams_share_a_figure_only_in_panels_of_their_own(name):
    other = finished_run({"method": "er", "stream": "split-mnist"}, 60.0, made_analysis(embed=(1, 2)))
    if name in ("matrix", "spectra"):
        titles = [axes.get_title() for axes in draw_figure(name, [*pair(), other], warn=pytest.fail).axes]
        assert sum("split-mnist" in title for title in titles) == 1
    else:
        assert "must be of one stream" in complaint(name, [*pair(), other])


def test_the_graphs_of_the_last_task_end():
    figure = draw_figure("graph", pair())
    assert figure.axes[0].get_title() == "ER\n2 of 3 edges join different classes"
    assert "A replay batch after task 2" in figure.get_suptitle()
    assert len(figure.axes) == 4
    spectrum = figure.axes[2]
    assert spectrum.lines[0].get_ydata().tolist() == [0.0, 0.2, 1.2, 1.4]
    assert [text.get_text() for text in spectrum.texts] == ["gap after the 2nd: 1.000"]


def test_other_replay_batches_are_said():
    told, runs = [], pair()
    runs[0].analysis["task_ends"][-1]["replay_batch"]["labels"] = [3, 3, 7, 8]
    draw_figure("graph", runs, warn=told.append)
    assert told == ["the replay batches differ, because the memories or the seeds do"]


@pytest.mark.parametrize("name", ["sigma", "sigma-share", "tsne", "fmaps", "spectra"])
def test_graphs_with_other_numbers_of_neighbours_are_not_compared(name):
    runs = pair()
    runs[0].analysis["num_neighbors"] = 8
    assert complaint(name, runs) == ("RUNS must all be analysed with the same --neighbors, but got 8, 10")


def test_the_number_of_neighbours_is_told():
    assert draw_figure("sigma", pair()).axes[0].get_ylabel().endswith(", k = 10")
    assert draw_figure("sigma-share", pair()).axes[0].get_ylabel().endswith(", k = 10")
