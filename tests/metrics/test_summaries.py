from copy import deepcopy

import pytest

from casper.metrics import (
    adjusted_forgetting,
    adjusted_forgetting_before_last,
    averages_so_far,
    backward_transfer,
    final_average_accuracy,
    forgetting,
    forward_transfer,
    summarize,
)
from casper.metrics.summaries import forgetting_so_far

EXAMPLE = [[90.0, None, None], [60.0, 80.0, None], [45.0, 60.0, 70.0]]
FULL = [[90.0, 20.0, 10.0], [60.0, 80.0, 30.0], [45.0, 60.0, 70.0]]
JOINT = [[None, None, None], [None, None, None], [50.0, 60.0, 70.0]]
OF_OLD_TASKS = [forgetting, adjusted_forgetting, adjusted_forgetting_before_last, backward_transfer]


@pytest.mark.parametrize(
    ("summary", "value"),
    [
        (final_average_accuracy, 175 / 3),
        (forgetting, 32.5),
        (adjusted_forgetting, 37.5),
        (adjusted_forgetting_before_last, 37.5),
        (backward_transfer, -32.5),
    ],
)
@pytest.mark.parametrize("matrix", [EXAMPLE, FULL])
def test_example(summary, value, matrix):
    assert summary(matrix) == pytest.approx(value)


def test_best_accuracy_may_come_later_than_the_task_itself():
    matrix = [[50.0, None, None], [80.0, 40.0, None], [40.0, 40.0, 99.0]]
    assert adjusted_forgetting(matrix) == pytest.approx(50 / 2)
    assert forgetting(matrix) == pytest.approx(40 / 2)
    assert backward_transfer(matrix) == pytest.approx(-10 / 2)


def test_accuracy_before_a_task_is_learned_is_not_its_best():
    matrix = [[90.0, 95.0, 99.0], [60.0, 80.0, 99.0], [45.0, 60.0, 70.0]]
    assert forgetting(matrix) == pytest.approx(32.5)
    assert adjusted_forgetting(matrix) == pytest.approx(37.5)


def test_a_task_that_ends_at_its_best_is_not_forgotten():
    matrix = [[50.0, None], [60.0, 70.0]]
    assert forgetting(matrix) == 0
    assert adjusted_forgetting(matrix) == 0
    assert adjusted_forgetting_before_last(matrix) == pytest.approx(-20)
    assert backward_transfer(matrix) == pytest.approx(10)


def test_old_tasks_that_end_at_zero_are_wholly_forgotten():
    matrix = [[97.0, None, None], [0.0, 12.0, None], [0.0, 0.0, 88.0]]
    assert adjusted_forgetting(matrix) == pytest.approx(100)
    assert adjusted_forgetting_before_last(matrix) == pytest.approx(100)


def test_a_task_that_was_never_known_counts_zero():
    matrix = [[0.0, None, None], [0.0, 80.0, None], [0.0, 40.0, 70.0]]
    assert adjusted_forgetting(matrix) == pytest.approx(25)
    assert adjusted_forgetting_before_last([[0.0, None], [30.0, 70.0]]) == 0


def test_forward_transfer_by_hand():
    assert forward_transfer(FULL, [12.0, 10.0, 8.0]) == pytest.approx(((20 - 10) + (30 - 8)) / 2)


def test_forward_transfer_of_classes_that_never_win_is_minus_chance():
    assert forward_transfer([[90.0, 0.0], [10.0, 90.0]], [50.0, 11.0]) == pytest.approx(-11)


def test_forward_transfer_does_not_need_the_first_untrained_accuracy():
    assert forward_transfer(FULL, [None, 10.0, 8.0]) == pytest.approx(16)


@pytest.mark.parametrize("untrained", [[12.0, None, 8.0], [None, None, None]])
def test_forward_transfer_needs_the_other_untrained_accuracies(untrained):
    assert forward_transfer(FULL, untrained) is None


def test_forward_transfer_needs_the_entries_above_the_diagonal():
    assert forward_transfer(EXAMPLE, [1.0, 2.0, 3.0]) is None


def test_joint_training_has_only_a_final_average():
    assert final_average_accuracy(JOINT) == pytest.approx(60)
    assert all(summary(JOINT) is None for summary in OF_OLD_TASKS)
    assert forward_transfer(JOINT, [1.0, 2.0, 3.0]) is None


@pytest.mark.parametrize("place", [0, 1, 2])
def test_missing_last_accuracy(place):
    matrix = deepcopy(FULL)
    matrix[2][place] = None
    assert final_average_accuracy(matrix) is None
    assert all((summary(matrix) is None) == (place < 2) for summary in OF_OLD_TASKS)


def test_missing_accuracy_in_between():
    matrix = deepcopy(FULL)
    matrix[1][0] = None
    assert forgetting(matrix) is None
    assert adjusted_forgetting(matrix) is None
    assert adjusted_forgetting_before_last(matrix) is None
    assert backward_transfer(matrix) == pytest.approx(-32.5)


def test_one_task_has_only_a_final_average():
    assert final_average_accuracy([[80.0]]) == 80
    assert all(summary([[80.0]]) is None for summary in OF_OLD_TASKS)
    assert forward_transfer([[80.0]], [10.0]) is None


def test_summarize_gathers_everything_by_name():
    summary = summarize(FULL, [12.0, 10.0, 8.0])
    assert summary == {
        "accuracy_matrix": FULL,
        "final_average_accuracy": pytest.approx(58.333, abs=1e-3),
        "forgetting": pytest.approx(32.5),
        "adjusted_forgetting": pytest.approx(37.5),
        "adjusted_forgetting_before_last": pytest.approx(37.5),
        "backward_transfer": pytest.approx(-32.5),
        "forward_transfer": pytest.approx(16),
        "untrained_accuracy": [12.0, 10.0, 8.0],
    }


@pytest.mark.parametrize("matrix", [EXAMPLE, FULL, JOINT])
def test_arguments_are_not_changed(matrix):
    given, untrained = deepcopy(matrix), (12.0, None, 8.0)
    summarize(given, untrained)
    assert given == matrix


def test_the_averages_over_the_tasks_seen_so_far():
    assert averages_so_far([[90.0, 10.0, None], [70.0, 80.0, 5.0], [30.0, 40.0, 80.0]]) == [90.0, 75.0, 50.0]
    assert averages_so_far([[None, None], [50.0, 60.0]]) == []
    assert averages_so_far([]) == []


def test_forgetting_by_hand():
    # After two tasks the first has lost 20; after three the first 60, the second 40.
    assert forgetting_so_far([[90.0, 10.0, None], [70.0, 80.0, 5.0], [30.0, 40.0, 80.0]]) == [20.0, pytest.approx(50.0)]


def test_what_comes_back_is_not_forgotten():
    assert forgetting_so_far([[50.0, None], [60.0, 80.0]]) == [0.0]


def test_forgetting_needs_every_row_and_two_tasks():
    assert forgetting_so_far([[None, None], [50.0, 60.0]]) == []
    assert forgetting_so_far([[50.0]]) == []
    assert forgetting_so_far([]) == []
