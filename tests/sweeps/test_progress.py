import pytest
import torch

from casper.experiments.run_log import RunLog
from casper.sweeps import how_far
from casper.training import RunStarted, StepDone, TaskDone, TaskStarted


@pytest.fixture
def log(tmp_path):
    return RunLog(tmp_path / "log.jsonl")


def start(log, task, epochs=2, steps=60):
    log.listen(TaskStarted(task, 2, task, 2, images=96, epochs=epochs, steps_per_epoch=steps))


def learn(log, task, steps):
    for step in steps:
        log.listen(StepDone(task, task, 0, step, {"stream": torch.tensor(0.5)}))


def end(log, task):
    log.listen(TaskDone(task, task, {0: {"class_il": 90.0}}, {"class_il": 90.0}, None, 20, 0.5, 0.1))


def test_nothing_is_known_before_the_first_task(log):
    assert how_far(log.path) == ""
    log.path.touch()
    assert how_far(log.path) == ""
    log.listen(RunStarted(2, ("a", "b"), "about"))
    assert how_far(log.path) == ""


def test_task_and_step_are_those_of_the_last_line(log):
    log.listen(RunStarted(2, ("a", "b"), "about"))
    start(log, 0)
    assert how_far(log.path) == "task 1, step 0/120"
    learn(log, 0, range(70))
    assert how_far(log.path) == "task 1, step 50/120"
    learn(log, 0, range(70, 100))
    assert how_far(log.path) == "task 1, step 100/120"
    learn(log, 0, range(100, 120))
    end(log, 0)
    assert how_far(log.path) == "task 1, step 120/120"
    start(log, 1, epochs=1)
    assert how_far(log.path) == "task 2, step 0/60"


def test_half_a_line_and_lines_that_are_none_are_passed_over(log):
    start(log, 0)
    learn(log, 0, range(50))
    with log.path.open("a") as file:
        file.write('[1]\n3\n\nnot JSON\n{"event": "loss", "ste')
    assert how_far(log.path) == "task 1, step 50/120"


def test_only_the_end_of_a_long_log_is_read(log):
    log.path.write_text('{"event": "task started", "task": 8, "steps": 9}\n' + " " * 2**20 + "\n")
    assert how_far(log.path) == ""
    start(log, 1)
    assert how_far(log.path) == "task 2, step 0/120"


def test_a_line_that_begins_before_the_end_that_is_read_does_no_harm(log):
    log.path.write_text('{"event": "run started", "classes": ["' + "x" * 2**17 + '"]}\n')
    start(log, 0)
    assert how_far(log.path) == "task 1, step 0/120"


def test_a_directory_in_its_place_does_no_harm(tmp_path):
    assert how_far(tmp_path) == ""
