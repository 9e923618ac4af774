import io

import pytest
import torch
from rich.console import Console

from casper.cli import progress
from casper.cli.progress import ProgressDisplay
from casper.training import RunStarted, StepDone, TaskDone, TaskStarted


def shown(terminal):
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal, width=160)
    with ProgressDisplay(console, "a title") as display:
        display.listen(RunStarted(2, ("a", "b"), "about the images"))
        for task in range(2):
            display.listen(TaskStarted(task, 2, task, 2, images=96, epochs=2, steps_per_epoch=3))
            for step in range(6):
                terms = {"stream": torch.tensor(0.25), "casper": torch.tensor(-0.01)}
                display.listen(StepDone(task, task, step // 3, step, terms))
            display._live.refresh()
            recalibrated = {"class_il": 95.0} if task else None
            accuracies = {0: {"class_il": 90.0}}
            display.listen(TaskDone(task, task, accuracies, {"class_il": 90.0}, recalibrated, 20, 0.5, 0.1))
    return output.getvalue()


def test_a_file_gets_one_plain_line_per_task():
    lines = shown(terminal=False).splitlines()
    assert lines == [
        "a title",
        "about the images",
        "task 1/2  6 steps, 12 steps/s  stream 0.25  casper -0.01  accuracy class_il 90.0",
        "task 2/2  6 steps, 12 steps/s  stream 0.25  casper -0.01  accuracy class_il 90.0  recalibrated class_il 95.0",
    ]


def test_a_terminal_gets_a_live_display_with_everything():
    text = shown(terminal=True)
    for part in ("task 1/2  epoch 2/2", "50%", "steps/s", "left", "stream 0.25", "casper -0.01", "accuracy class_il"):
        assert part in text


def test_losses_shown_follow_the_latest_steps():
    output = io.StringIO()
    display = ProgressDisplay(Console(file=output, width=160))
    display.listen(TaskStarted(0, 1, 0, 1, images=1, epochs=1, steps_per_epoch=101))
    for step in range(101):
        display.listen(StepDone(0, 0, 0, step, {"stream": torch.tensor(100.0 if step == 0 else 1.0)}))
    display.listen(TaskDone(0, 0, {0: {"class_il": 1.0}}, {"class_il": 1.0}, None, 0, 1.0, 0.1))
    assert "stream 1 " in output.getvalue()


def long_run(seconds_per_step, monkeypatch, hint):
    output = io.StringIO()
    display = ProgressDisplay(Console(file=output, width=160), hint=hint)
    clock = iter(range(1000))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: seconds_per_step * next(clock))
    display.listen(TaskStarted(0, 10, 0, 10, images=1, epochs=2, steps_per_epoch=50))
    for step in range(40):
        display.listen(StepDone(0, 0, 0, step, {}))
    return output.getvalue()


def test_a_long_run_is_estimated_once_with_a_hint(monkeypatch):
    text = long_run(7.2, monkeypatch, "--protocol desk is the variant for a desk")
    assert text == (
        "about 2 h of training at the speed of the first steps; --protocol desk is the variant for a desk\n"
    )


def test_a_short_run_is_not(monkeypatch):
    assert long_run(0.05, monkeypatch, "hint") == ""


def test_a_slow_first_step_is_enough_for_an_estimate(monkeypatch):
    output = io.StringIO()
    display = ProgressDisplay(Console(file=output, width=160))
    clock = iter([0.0, 25.0])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(clock))
    display.listen(TaskStarted(0, 1, 9, 10, images=1, epochs=2, steps_per_epoch=72))  # one phase: joint
    display.listen(StepDone(0, 9, 0, 0, {}))
    assert output.getvalue() == "about 1 h of training at the speed of the first steps\n"


def test_twenty_steps_are_enough_for_an_estimate(monkeypatch):
    output = io.StringIO()
    display = ProgressDisplay(Console(file=output, width=160))
    clock = iter(range(100))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(clock) * 0.9)
    display.listen(TaskStarted(0, 10, 0, 10, images=1, epochs=1, steps_per_epoch=1000))
    for step in range(19):
        display.listen(StepDone(0, 0, 0, step, {}))
    assert output.getvalue() == ""
    display.listen(StepDone(0, 0, 0, 19, {}))
    assert "about 2 h 30 min" in output.getvalue()


@pytest.mark.parametrize(("seconds", "rate"), [(0.5, "12 steps/s"), (4.0, "0.7 s/step"), (3.0, "2 steps/s")])
def test_slow_steps_are_shown_in_seconds(seconds, rate):
    output = io.StringIO()
    display = ProgressDisplay(Console(file=output, width=160))
    display.listen(TaskStarted(0, 1, 0, 1, images=1, epochs=1, steps_per_epoch=6))
    display.listen(TaskDone(0, 0, {0: {"class_il": 1.0}}, {"class_il": 1.0}, None, 0, seconds, 0.1))
    assert f"6 steps, {rate}  " in output.getvalue()


def test_the_losses_of_a_task_are_not_carried_into_the_next():
    output = io.StringIO()
    display = ProgressDisplay(Console(file=output, width=160))
    for task, term in enumerate(("stream", "replay")):
        display.listen(TaskStarted(task, 2, task, 2, images=1, epochs=1, steps_per_epoch=1))
        display.listen(StepDone(task, task, 0, 0, {term: torch.tensor(1.0)}))
        display.listen(TaskDone(task, task, {0: {"class_il": 1.0}}, {"class_il": 1.0}, None, 0, 1.0, 0.1))
    assert "stream" not in output.getvalue().splitlines()[1]


def test_brackets_in_a_path_are_shown_as_they_are():
    output = io.StringIO()
    with ProgressDisplay(Console(file=output, width=160), "on folder:my [/b] photos") as display:
        display.listen(RunStarted(1, ("a",), "my [bold] photos"))
    assert output.getvalue() == "on folder:my [/b] photos\nmy [bold] photos\n"
