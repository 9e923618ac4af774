import errno
import json
import os
import shutil
import signal
from pathlib import Path

import pytest
import torch
import yaml

from casper import files
from casper.config import ConfigError, flattened, resolve_config
from casper.errors import NonFiniteLossError
from casper.runs import (
    CheckpointEvery,
    Interruption,
    RunDirectory,
    RunInterrupted,
    RunStoppedError,
    build_trainer,
    execute,
)
from casper.runs.code_version import code_version
from casper.runs.lock import run_lock
from casper.training import Evaluator, SetTested, StepDone, load_checkpoint
from crashing import (
    EVERY_STEP,
    QUICK,
    assert_same_run,
    crashed,
    read,
)
from faulty_disk import FailingAt, FullDisk, Recording


def test_a_run_writes_its_directory(tmp_path):
    metrics = execute(resolve_config(QUICK), tmp_path / "run")
    files = {file.name for file in (tmp_path / "run").iterdir()}
    assert files == {
        "config.yaml",
        "environment.json",
        "log.jsonl",
        "checkpoint.pt",
        "metrics.json",
        ".lock",
        ".owner",
    }
    assert read(tmp_path / "run") == metrics
    blocks = {"class_il", "task_il", "domain_il", "recalibrated", "latent", "seconds", "steps", "tasks"} | {
        "code",
        "threads",
    }
    assert set(metrics) == blocks
    assert metrics["tasks"] == [list("01234"), list("56789")]
    assert metrics["code"] == code_version()
    assert metrics["seconds"]["total"] == pytest.approx(metrics["seconds"]["train"] + metrics["seconds"]["evaluate"])


def test_the_written_configuration_repeats_the_run_bit_for_bit(tmp_path):
    given = {**QUICK, "recalibrate": True, "casper.weight": 0.5}
    execute(resolve_config(given), tmp_path / "first")
    layout = yaml.safe_load((tmp_path / "first" / "config.yaml").read_text())
    execute(resolve_config({}, flattened(layout)), tmp_path / "second")
    assert_same_run(tmp_path / "first", tmp_path / "second")


def test_the_last_checkpoint_is_the_end_of_the_run(tmp_path):
    config = resolve_config(QUICK)
    metrics = execute(config, tmp_path / "run")
    trainer = build_trainer(config)
    trainer.load_state_dict(load_checkpoint(tmp_path / "run" / "checkpoint.pt")["trainer"])
    assert trainer.position.phase == 2
    assert trainer.metrics() == trainer.run()
    assert {**trainer.metrics(), "code": code_version(), "threads": 1} == metrics


def test_nothing_is_written_if_the_run_cannot_start(tmp_path):
    with pytest.raises(ConfigError):
        execute(resolve_config({"casper.num_classes": 0}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_listeners_are_told(tmp_path):
    events = []
    execute(resolve_config(QUICK), tmp_path / "run", listeners=[events.append])
    assert len(events) > 10


@pytest.mark.parametrize("finished", [True, False])
def test_an_occupied_directory_is_refused_before_anything_is_built(tmp_path, monkeypatch, finished):
    config = resolve_config(QUICK)
    if finished:
        execute(config, tmp_path / "run")
    else:
        crashed(config, tmp_path / "run")
        config = resolve_config({**QUICK, "seed": 1})
    monkeypatch.setattr("casper.runs.execution.build_trainer", lambda *_, **__: pytest.fail("built"))
    with pytest.raises(ConfigError, match="contains this run, finished" if finished else "differs in seed"):
        execute(config, tmp_path / "run")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_after_the_step_with_a_checkpoint(tmp_path, number):
    config, run = resolve_config(QUICK), tmp_path / "my run"
    execute(config, tmp_path / "whole")

    def send(event):
        if isinstance(event, StepDone) and event.step == 7:
            os.kill(os.getpid(), number)

    with pytest.raises(RunInterrupted) as caught:
        execute(
            config, run, listeners=[send], interruption=Interruption(), checkpoint_every=CheckpointEvery.parse("never")
        )
    assert caught.value.signal == number
    assert str(caught.value) == f"stopped: task 1, after step 8; resume with: casper run --resume '{run}'"
    assert load_checkpoint(run / "checkpoint.pt")["trainer"]["position"]["step"] == 8
    execute(config, run)
    assert_same_run(tmp_path / "whole", run)


def test_a_signal_after_the_last_task_leaves_a_checkpoint_too(tmp_path, monkeypatch):
    config, run = resolve_config(QUICK), tmp_path / "run"
    summarize = Evaluator.summarize_latent_space

    def interrupted(evaluator, done):
        os.kill(os.getpid(), signal.SIGTERM)
        return summarize(evaluator, done)

    monkeypatch.setattr(Evaluator, "summarize_latent_space", interrupted)
    with pytest.raises(RunInterrupted, match="stopped: after task 2; resume with"):
        execute(config, run, interruption=Interruption())
    monkeypatch.undo()
    assert RunDirectory(run).state() == "unfinished"
    execute(config, run)
    execute(config, tmp_path / "whole")
    assert_same_run(tmp_path / "whole", run)


def test_a_second_signal_does_not_wait(tmp_path):
    config, run = resolve_config(QUICK), tmp_path / "run"

    def send(event):
        if isinstance(event, StepDone) and event.step == 7:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(RunInterrupted, match="stopped at once: task 1, after step 8; restart with: casper run"):
        execute(config, run, listeners=[send], interruption=Interruption())
    assert not (run / "checkpoint.pt").exists()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL  # a third one would end the process
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_a_loss_that_is_not_finite_keeps_the_last_good_checkpoint(tmp_path):
    config, run = resolve_config({**QUICK, "lr": 1e30}), tmp_path / "run"
    pattern = r"not finite in task 1, .*step \d+: stream = (nan|inf).*learning rate is 1e\+30, try a smaller one; "
    with pytest.raises(NonFiniteLossError, match=pattern + "there is no checkpoint yet"):
        execute(config, run)
    with pytest.raises(NonFiniteLossError, match=pattern + "the last good checkpoint is saved"):
        execute(config, run, checkpoint_every=CheckpointEvery.parse("0s"))
    state = load_checkpoint(run / "checkpoint.pt")["trainer"]
    assert all(value.isfinite().all() for value in state["net"].values())


def test_a_failed_allocation_is_one_line_with_the_way_to_resume(tmp_path):
    config, run = resolve_config(QUICK), tmp_path / "run"

    def allocate(event):
        if isinstance(event, StepDone) and event.step == 7:
            torch.empty(2**50, dtype=torch.uint8)

    pattern = (
        r"^out of memory \(tried to allocate \d+ bytes\) in task 1, after step 8; .*; resume with: casper run --resume"
    )
    with pytest.raises(RunStoppedError, match=pattern):
        execute(config, run, listeners=[allocate], checkpoint_every=EVERY_STEP)
    assert execute(config, run)["steps"] > 8

    def fail(event):
        raise RuntimeError("another error")

    with pytest.raises(RuntimeError, match="another error"):
        execute(config, tmp_path / "other", listeners=[fail])


def test_weights_that_are_no_numbers_never_reach_a_checkpoint(tmp_path):
    config, run = resolve_config(QUICK), tmp_path / "run"

    def spoil(event):
        if isinstance(event, StepDone) and event.step == 9:
            with torch.no_grad():
                next(trainers[0].net.parameters()).fill_(float("nan"))

    trainers = []
    original = build_trainer

    def building(*arguments, **options):
        trainers.append(original(*arguments, **options))
        return trainers[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("casper.runs.execution.build_trainer", building)
        with pytest.raises(
            NonFiniteLossError, match=r"not finite in task 1, after step 10.*last good checkpoint is saved"
        ):
            execute(config, run, listeners=[spoil], checkpoint_every=EVERY_STEP)
    assert load_checkpoint(run / "checkpoint.pt")["trainer"]["position"]["step"] == 9


def count_operations(config, out):
    """How often a whole run, with a checkpoint every ten steps, turns to the disk."""
    out.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "disk", disk := FailingAt(-1))
        execute(config, out, checkpoint_every=CheckpointEvery.parse("10steps"))
    return disk.calls


def assert_whole_files(run):
    """No file is corrupt, and none is left over."""
    assert not list(run.glob("*.tmp"))
    for file in run.glob("*.pt"):
        if "damaged" not in file.name:
            load_checkpoint(file)
    for line in (run / "log.jsonl").read_text().splitlines() if (run / "log.jsonl").exists() else ():
        json.loads(line)
    for file in run.glob("*.json"):
        json.loads(file.read_text())


def fail(config, run, number, error):
    """Have the n-th operation on the disk fail; returns the one line that the user reads."""
    reason = os.strerror(error)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "disk", FailingAt(number, error))
        with pytest.raises((ConfigError, RunStoppedError), match=f"cannot be written: {reason}") as caught:
            execute(config, run, checkpoint_every=CheckpointEvery.parse("10steps"))
    assert "\n" not in str(caught.value)
    assert_whole_files(run)
    return caught.value


def test_a_failure_at_every_second_turn_to_the_disk_is_one_line_and_the_run_goes_on(tmp_path):
    config = resolve_config(QUICK)
    operations = count_operations(config, tmp_path / "whole")
    assert operations > 40
    for number in sorted({*range(0, operations, 2), operations - 1}):  # every second turn, and the last
        run = tmp_path / str(number)
        run.mkdir()
        error = fail(config, run, number, [errno.ENOSPC, errno.EROFS, errno.EIO][number % 3])
        if isinstance(error, RunStoppedError):
            assert str(error).endswith(f" with: casper run --resume {run}")
        if RunDirectory(run).state() == "finished":  # only the directory's last sync failed
            assert number == operations - 1
        else:
            execute(config, run)
        assert_same_run(tmp_path / "whole", run)
        shutil.rmtree(run)


@pytest.mark.parametrize("every", ["never", "10steps"])
def test_a_failure_while_a_run_goes_on_loses_nothing(tmp_path, every):
    config = resolve_config(QUICK)
    execute(config, tmp_path / "whole")
    crashed(config, tmp_path / "begun", number=25, checkpoint_every=CheckpointEvery.parse(every))
    if every == "10steps":
        (tmp_path / "begun" / "checkpoint.pt").write_bytes(b"damaged")
    for number in range(20):
        run = tmp_path / str(number)
        shutil.copytree(tmp_path / "begun", run)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "disk", FailingAt(number, errno.ENOSPC))
            with pytest.raises(RunStoppedError, match="cannot be written: No space left on device"):
                execute(config, run, checkpoint_every=CheckpointEvery.parse("10steps"), warn=lambda _: None)
        execute(config, run, warn=lambda _: None)
        assert_same_run(tmp_path / "whole", run)
        shutil.rmtree(run)


@pytest.mark.parametrize("room", [3, 4, 9])
def test_a_disk_that_stays_full_leaves_whole_files(tmp_path, room):
    config, run = resolve_config(QUICK), tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "disk", FullDisk(room))
        with pytest.raises((ConfigError, RunStoppedError), match="No space left on device"):
            execute(config, run, checkpoint_every=CheckpointEvery.parse("10steps"))
    assert_whole_files(run)
    execute(config, run)
    assert (run / "metrics.json").exists()


def test_a_directory_that_vanishes_ends_the_run_in_one_line(tmp_path):
    run = tmp_path / "run"

    def remove(event):
        if isinstance(event, StepDone) and event.step == 5:
            shutil.rmtree(run)

    with pytest.raises(RunStoppedError, match=r"log\.jsonl cannot be written: No such file or directory$"):
        execute(resolve_config(QUICK), run, listeners=[remove], checkpoint_every=CheckpointEvery.parse("10steps"))
    assert not run.exists()


def test_the_directory_may_be_the_present_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "disk", FailingAt(30, errno.ENOSPC))
        with pytest.raises(RunStoppedError, match=r"cannot be written: No space left .* with: casper run --resume \.$"):
            execute(resolve_config(QUICK), Path("."), checkpoint_every=CheckpointEvery.parse("5steps"))
    execute(resolve_config(QUICK), Path("."))
    assert Path("metrics.json").exists()


def test_a_directory_in_use_is_refused_before_anything_is_built(tmp_path, monkeypatch):
    config, run = resolve_config(QUICK), tmp_path / "run"
    crashed(config, run)
    monkeypatch.setattr("casper.runs.execution.build_trainer", lambda *_, **__: pytest.fail("built"))
    with run_lock(run), pytest.raises(ConfigError, match="is in use by process"):
        execute(config, run)


def test_a_directory_is_in_use_as_long_as_its_run(tmp_path):
    config, run, refused = resolve_config(QUICK), tmp_path / "run", []

    def another(event):
        if isinstance(event, StepDone | SetTested):
            with pytest.raises(ConfigError, match="is in use by process"):
                execute(config, run)
            refused.append(event)

    execute(config, run, listeners=[another])
    assert len(refused) > 30


def test_somebody_may_have_been_quicker(tmp_path, monkeypatch):
    config, run = resolve_config(QUICK), tmp_path / "run"

    def building(*arguments, **options):
        monkeypatch.undo()
        execute(config, run)
        return build_trainer(*arguments, **options)

    monkeypatch.setattr("casper.runs.execution.build_trainer", building)
    with pytest.raises(ConfigError, match="contains this run, finished"):
        execute(config, run)
    assert (run / "metrics.json").exists()


def test_an_error_about_another_file_is_not_the_runs(tmp_path):
    def elsewhere(event):
        raise OSError(errno.EIO, "bad", str(tmp_path / "run-of-another"))

    with pytest.raises(OSError, match="bad") as caught:
        execute(resolve_config(QUICK), tmp_path / "run", listeners=[elsewhere])
    assert type(caught.value) is OSError


def test_the_log_is_on_the_disk_before_the_result(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "disk", disk := Recording())
    execute(resolve_config(QUICK), tmp_path / "run")
    kinds = [operation[:2] for operation in disk.operations[-6:]]
    assert kinds[:3] == [("write", "log.jsonl"), ("sync", "log.jsonl"), ("write", "metrics.json.tmp")]


@pytest.mark.parametrize("begun", [False, True])
def test_a_run_that_is_done_has_not_failed(tmp_path, begun):
    config, run = resolve_config(QUICK), RunDirectory(tmp_path / "run")
    if begun:
        crashed(config, run.path, checkpoint_every=CheckpointEvery.parse("never"))
    run.write_failure("earlier")
    execute(config, run.path)
    assert not run.failure.exists()
