import pytest
import torch

from casper.training import Position


def test_a_position_goes_through_its_state():
    position = Position(2, "training", 100, "abc", 7, 5, torch.arange(3), 0)
    again = Position(**position.state_dict())
    assert torch.equal(again.order, position.order)
    again.order = position.order = None
    assert again == position


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (Position(), "before task 1, 0 test sets done"),
        (Position.before(0), "before task 1"),
        (Position.before(2), "after task 2"),
        (Position(1, "training", step=7), "task 2, after 7 steps"),
        (Position(1, "testing", tested=3), "task 2, all steps made, 3 test sets done"),
    ],
)
def test_it_says_where_it_is(position, text):
    assert str(position) == text
