import pytest

from casper.config import ConfigError
from casper.reports import draw_figure
from casper.reports.analyses import (
    analysis_of,
    least_variation,
    most_common_pair,
    shared_neighbors,
    with_memory,
)
from casper.reports.grouping import MissingDataError
from finished import analysis_of as made_analysis
from finished import finished_run


def analysed(**changes):
    return finished_run({}, 60.0, {**made_analysis(), **changes})


def test_an_analysis_and_what_is_none():
    assert analysis_of(analysed(num_neighbors=7)).num_neighbors == 7
    with pytest.raises(MissingDataError, match="casper analyse RUN"):
        analysis_of(finished_run({}, 60.0))
    with pytest.raises(MissingDataError, match="another layout"):
        analysis_of(analysed(task_ends=3))


def test_task_ends_without_a_graph_are_skipped_unless_all_are():
    assert with_memory({1: None, 2: 0.0}) == {2: 0.0}
    with pytest.raises(MissingDataError, match="the memory needs more items than neighbours of each"):
        with_memory({1: None})


def test_neighbours_that_are_shared_or_not():
    assert shared_neighbors([analysed(), analysed(), finished_run({}, 60.0), analysed(task_ends=3)]) == "10"
    assert shared_neighbors([]) == "?"
    with pytest.raises(ConfigError, match="but got 8, 10"):
        shared_neighbors([analysed(), analysed(num_neighbors=8)])


def test_neighbours_that_depend_on_the_size_of_the_memory():
    runs = []
    for size, neighbors in ((500, 5), (2000, 4)):
        for seed in (0, 1):
            analysis = {**made_analysis(), "sigma_neighbors": neighbors, "map_neighbors": 20}
            runs.append(finished_run({"buffer_size": size, "seed": seed, "regularizer": ["none"]}, 60.0, analysis))
    assert shared_neighbors(runs) == "5 (buffer 500), 4 (buffer 2000)"
    assert shared_neighbors(runs, "map") == "20"
    (axes,) = draw_figure("sigma", runs).axes
    assert axes.get_ylabel().endswith(",\nk = 5 (buffer 500), 4 (buffer 2000)")
    assert len(axes.get_legend().get_texts()) == 2  # no line for the lowest possible number


def test_the_least_variation_is_a_mean_over_runs_at_each_task_end():
    def ends(*values):
        return [{"tasks_learnt": n, "label_signal_variation_least": v} for n, v in enumerate(values, start=1)]

    runs = [analysed(task_ends=ends(None, 4.0, 6.0)), analysed(task_ends=ends(None, 8.0))]
    assert least_variation(runs) == {2: 6.0, 3: 6.0}


def test_the_pair_that_most_runs_have_and_of_equals_the_latest():
    told = []
    runs = [analysed(**made_analysis(maps=maps)) for maps in (((1, 2), (2, 5)), ((1, 2),), ((2, 5), (3, 5)))]
    assert most_common_pair(runs, told.append) == (2, 5)
    assert told == ["the figure has the functional maps from task end 2 to 5; there are also 1 to 2, 3 to 5"]
    assert most_common_pair([analysed(**made_analysis(maps=()))], pytest.fail) is None
