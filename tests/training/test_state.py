import pytest
import torch

from casper.training import Position
from casper.training.state import Stopwatch


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
        (Position(2, "next", tested=3), "after task 2, features of 3 test sets computed"),
        (Position(1, "training", step=7), "task 2, after step 7"),
        (Position(1, "training"), "task 2, before its first step"),
        (Position(1, "testing", tested=3), "task 2, all steps done, 3 test sets done"),
    ],
)
def test_a_position_as_text(position, text):
    assert str(position) == text


@pytest.mark.parametrize("change", [{"phase": "x"}, {"phase": -1}, {"step": None}, {"tested": 1.5}, {"stage": "gone"}])
def test_invalid_positions_are_rejected(change):
    with pytest.raises(ValueError, match="a position must have a known stage and counters"):
        Position(**change)


def test_a_stopwatch_counts_by_kind_for_the_run_and_for_the_task(monkeypatch):
    now = iter([10.0, 11.0, 13.0, 20.0, 24.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    watch = Stopwatch()
    watch.add("train")
    watch.add("evaluate")
    watch.start_task()
    watch.restart()
    watch.add("train")
    assert watch.run == {"train": 5.0, "evaluate": 2.0}
    assert watch.task == {"train": 4.0, "evaluate": 0.0}


def test_a_stopwatch_goes_through_its_state():
    watch, again = Stopwatch(), Stopwatch()
    watch.run["train"], watch.task["evaluate"] = 3.0, 1.0
    again.load_state_dict(watch.state_dict())
    watch.run["train"] = 9.0
    assert (again.run["train"], again.task["evaluate"]) == (3.0, 1.0)
