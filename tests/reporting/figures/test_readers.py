import pytest

from casper.config import ConfigError
from casper.reporting.figures.gathering import LackingError
from casper.reporting.figures.readers import (
    accuracy_matrix_of,
    analysis_of,
    least_variation,
    most_common_pair,
    shared_neighbors,
    with_memory,
)
from finished import analysis_of as made_analysis
from finished import finished_run


def analysed(**changes):
    return finished_run({}, 60.0, {**made_analysis(), **changes})


def test_a_matrix_and_what_is_none():
    assert accuracy_matrix_of(finished_run({}, 60.0)) == [[70.0, 69.0], [70.0, 69.0]]
    with pytest.raises(LackingError, match="an accuracy matrix"):
        accuracy_matrix_of(finished_run({}, 60.0, class_il={"accuracy_matrix": [[1.0], [2.0, 3.0]]}))


def test_an_analysis_and_what_is_none():
    assert analysis_of(analysed(num_neighbors=7)).num_neighbors == 7
    with pytest.raises(LackingError, match="casper analyse RUN"):
        analysis_of(finished_run({}, 60.0))
    with pytest.raises(LackingError, match="another layout"):
        analysis_of(analysed(task_ends=3))


def test_task_ends_without_a_graph_are_skipped_unless_all_are():
    assert with_memory({1: None, 2: 0.0}) == {2: 0.0}
    with pytest.raises(LackingError, match="more items than each has neighbours"):
        with_memory({1: None})


def test_neighbours_that_are_shared_or_not():
    assert shared_neighbors([analysed(), analysed(), finished_run({}, 60.0), analysed(task_ends=3)]) == "10"
    assert shared_neighbors([]) == "?"
    with pytest.raises(ConfigError, match="found 8, 10"):
        shared_neighbors([analysed(), analysed(num_neighbors=8)])


def test_the_least_variation_is_a_mean_over_runs_at_each_task_end():
    def ends(*values):
        return [{"tasks_learnt": n, "label_signal_variation_least": v} for n, v in enumerate(values, start=1)]

    runs = [analysed(task_ends=ends(None, 4.0, 6.0)), analysed(task_ends=ends(None, 8.0))]
    assert least_variation(runs) == {2: 6.0, 3: 6.0}


def test_the_pair_that_most_runs_have_and_of_equals_the_latest():
    told = []
    runs = [analysed(**made_analysis(maps=maps)) for maps in (((1, 2), (2, 5)), ((1, 2),), ((2, 5), (3, 5)))]
    assert most_common_pair(runs, told.append) == (2, 5)
    assert told == ["shown are the functional maps from task end 2 to 5; there are also 1 to 2, 3 to 5"]
    assert most_common_pair([analysed(**made_analysis(maps=()))], pytest.fail) is None
