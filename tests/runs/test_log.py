import json

import pytest
import torch

from casper import files
from casper.runs import how_far
from casper.runs.log import RunLog, check_log_state
from casper.training import RunStarted, SetTested, StepDone, TaskDone, TaskStarted, TaskTrained
from faulty_disk import FullDisk, Recording

STARTED = TaskStarted(0, 1, 0, 1, images=60, epochs=1, steps_per_epoch=60)
DONE = TaskDone(0, 0, {0: {"class_il": 90.0}}, {"class_il": 90.0}, None, 20, 1.5, 0.5, {"swaps": 3})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def steps(log, numbers):
    for step in numbers:
        log.listen(StepDone(0, 0, 0, step, {"stream": torch.tensor(float(step))}))


def test_mean_losses_per_interval_and_accuracies_per_task(path):
    log = RunLog(path)
    log.listen(RunStarted(1, ("cat", "dog"), "about"))
    log.listen(STARTED)
    steps(log, range(60))
    for quiet in (TaskTrained(0, 0), SetTested(1, 1)):
        log.listen(quiet)
    log.listen(DONE)
    log.write("finished", steps=60)
    run, started, first, second, done, finished = lines(path)
    assert run == {"event": "run started", "tasks": 1, "classes": ["cat", "dog"]}
    assert started == {"event": "task started", "task": 0, "images": 60, "steps": 60}
    assert first == {"event": "loss", "task": 0, "epoch": 0, "step": 49, "steps": 50, "terms": {"stream": 24.5}}
    assert second == {"event": "loss", "task": 0, "steps": 10, "terms": {"stream": 54.5}}
    assert done["accuracies"] == {"0": {"class_il": 90.0}}
    assert (done["memory"], done["diagnostics"]) == (20, {"swaps": 3})
    assert (done["train_seconds"], done["evaluate_seconds"]) == (1.5, 0.5)
    assert finished == {"event": "finished", "steps": 60}


@pytest.mark.parametrize("stop", [0, 7, 50, 53])
@pytest.mark.parametrize("tail", [b"", b'{"event": "lo', b'{"event": "loss"}\n{"event": "task done"}\n{"ev'])
def test_a_log_that_goes_on_is_the_log_of_a_run_without_a_stop(tmp_path, stop, tail):
    whole, first = RunLog(tmp_path / "whole"), RunLog(tmp_path / "stopped")
    for log in (whole, first):
        log.listen(RunStarted(1, ("cat", "dog"), "about"))
        log.listen(STARTED)
        steps(log, range(stop))
    state = first.state_dict()
    steps(first, range(stop, stop + 3))  # lost
    with (tmp_path / "stopped").open("ab") as file:
        file.write(tail)
    second = RunLog(tmp_path / "stopped")
    second.load_state_dict(state)
    second.listen(RunStarted(1, ("cat", "dog"), "about", resumed=True))
    second.listen(TaskStarted(0, 1, 0, 1, images=60, epochs=1, steps_per_epoch=60, step=stop, resumed=True))
    for log in (whole, second):
        steps(log, range(stop, 60))
        log.listen(DONE)
    assert (tmp_path / "stopped").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_log_that_lost_more_than_the_state_knows_is_repaired(path):
    log = RunLog(path)
    for number in range(3):
        log.write("line", number=number)
    state = log.state_dict()
    path.write_bytes(path.read_bytes()[:-5])
    log.load_state_dict(state)
    assert [line["number"] for line in lines(path)] == [0, 1]


def test_a_state_is_taken_when_the_log_is_on_the_disk(path, monkeypatch):
    log = RunLog(path)
    log.write("line")
    monkeypatch.setattr(files, "disk", disk := Recording())
    assert log.state_dict()["size"] == path.stat().st_size
    assert disk.operations == [("sync", "log.jsonl")]


def test_a_full_disk_leaves_whole_lines(path, monkeypatch):
    log = RunLog(path)
    log.write("line")
    monkeypatch.setattr(files, "disk", FullDisk(0))
    with pytest.raises(OSError, match="No space left"):
        log.write("another")
    assert lines(path) == [{"event": "line"}]


def test_a_term_is_averaged_over_the_steps_that_had_it(tmp_path):
    whole, stopped = RunLog(tmp_path / "whole"), RunLog(tmp_path / "stopped")
    for number in range(50):
        terms = {"often": torch.tensor(1.0)} | ({"rare": torch.tensor(2.0)} if number % 10 == 0 else {})
        for log in (whole, stopped):
            log.listen(StepDone(0, 0, 0, number, terms))
        if number == 25:
            state, stopped = stopped.state_dict(), RunLog(tmp_path / "stopped")
            stopped.load_state_dict(state)
    assert lines(tmp_path / "whole")[0]["terms"] == {"often": 1.0, "rare": 2.0}
    assert lines(tmp_path / "stopped") == lines(tmp_path / "whole")


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


def test_a_sum_without_a_count_in_a_checkpoint_is_refused():
    state = {"size": 0, "steps": 1, "sums": {"x": torch.tensor(1.0)}, "counts": {"x": 1}}
    check_log_state(state)
    with pytest.raises(ValueError, match=r"^log\.counts\.x must be at least 1, but got 0$"):
        check_log_state({**state, "counts": {"x": 0}})
