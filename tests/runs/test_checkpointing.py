import pytest

from casper.config import ConfigError
from casper.runs import USUAL, CheckpointEvery, Interruption, RunInterrupted
from casper.runs.checkpointing import Checkpointer
from casper.training import SetTested, StepDone, TaskDone

STEP, TESTED, DONE = StepDone(0, 0, 0, 0, {}), SetTested(1, 2), TaskDone(0, 0, {}, {}, None, 0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "every"),
    [
        ("auto", CheckpointEvery(0, "auto")),
        ("30s", CheckpointEvery(30, "seconds")),
        ("0.5s", CheckpointEvery(0.5, "seconds")),
        ("0s", CheckpointEvery(0, "seconds")),
        ("200steps", CheckpointEvery(200, "steps")),
        ("1step", CheckpointEvery(1, "steps")),
        ("task", CheckpointEvery(0, "task")),
        ("never", CheckpointEvery(0, "never")),
    ],
)
def test_how_often(text, every):
    assert CheckpointEvery.parse(text) == every


@pytest.mark.parametrize(
    "text", ["", "30", "s", "-1s", "0steps", "1.5steps", "30 s", "nans", "infs", "1e9s", "tasks", "x" * 999]
)
def test_what_is_not_a_time(text):
    with pytest.raises(
        ConfigError, match="--checkpoint-every must be auto, task, never, or such as 30s or 200steps, but got"
    ):
        CheckpointEvery.parse(text)


def saved(every, events, monkeypatch, takes=0):
    """Tell events, ten seconds apart; returns the numbers of those after which the state was saved."""
    now = [1000.0]
    monkeypatch.setattr("casper.runs.checkpointing.time.monotonic", lambda: now[0])
    told, found = [], []

    def save():
        found.append(len(told))
        now[0] += takes

    checkpointer = Checkpointer(save, CheckpointEvery.parse(every))
    for event in events:
        now[0] += 10
        told.append(event)
        checkpointer.listen(event)
    return found


def test_by_time(monkeypatch):
    assert saved("30s", [STEP, TESTED] * 4, monkeypatch) == [3, 6]
    assert saved("0s", [STEP] * 3, monkeypatch) == [1, 2, 3]


def test_by_steps(monkeypatch):
    assert saved("2steps", [STEP, TESTED, DONE, STEP, STEP, STEP, STEP], monkeypatch) == [4, 6]


def test_by_task_and_never(monkeypatch):
    events = [STEP, TESTED, DONE, STEP, DONE]
    assert saved("task", events, monkeypatch) == [3, 5]
    assert saved("never", events, monkeypatch) == []


@pytest.mark.parametrize(
    ("takes", "expected"),
    [
        (0.0, [3, 6, 9, 12, 15, 18]),  # half a minute
        (0.6, [3, 6, 9, 12, 15, 18]),  # 2 % of half a minute
        (0.9, [3, 8, 13, 18]),  # 2 % of 45 seconds
        (10.0, [3, 9, 15]),  # more than 2 % of a minute, but a minute is the most
    ],
)
def test_usually_a_crash_costs_half_a_minute_and_at_most_one(monkeypatch, takes, expected):
    assert CheckpointEvery.parse("auto") == USUAL
    assert saved("auto", [STEP, TESTED] * 9, monkeypatch, takes) == expected
    # The pause begins when the state is saved.
    assert saved("30s", [STEP, TESTED] * 4, monkeypatch, takes) == [3, 6]


def test_asked_to_stop_it_saves_and_stops():
    interruption, found = Interruption(), []
    checkpointer = Checkpointer(lambda: found.append(1), CheckpointEvery.parse("never"), interruption)
    checkpointer.listen(STEP)
    assert found == []
    interruption.signal = 15
    with pytest.raises(RunInterrupted) as caught:
        checkpointer.listen(STEP)
    assert (found, caught.value.signal, str(caught.value)) == ([1], 15, "stopped")


def test_after_every_task_its_state_is_kept_before_any_later_one_is_saved():
    told = []
    checkpointer = Checkpointer(lambda: told.append("saved"), CheckpointEvery.parse("0s"), keep=told.append)
    later = TaskDone(1, 4, {}, {}, None, 0, 0.0, 0.0)
    for event in (STEP, DONE, TESTED, later):
        checkpointer.listen(event)
    assert told == ["saved", 1, "saved", "saved", 5, "saved"]
