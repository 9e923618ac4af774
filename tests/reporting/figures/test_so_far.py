import pytest

from casper.reporting import averages_so_far
from casper.reporting.figures.so_far import forgetting_so_far


def test_the_averages_over_the_tasks_met_so_far():
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
