import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from casper.config import resolve_config
from casper.runs import USUAL, CheckpointEvery, RunDirectory, execute
from casper.runs.lock import run_lock
from casper.sweeps import Job, LaunchedRun, Launcher, LocalLauncher, Outcome, cores
from casper.sweeps import launcher as local_launcher
from casper.training import load_checkpoint


def test_a_job_is_made_as_usual_unless_it_says_otherwise():
    job = Job(resolve_config({}), Path("run"))
    assert (job.data_dir, job.checkpoint_every) == (None, USUAL)


def test_jobs_and_outcomes_reach_another_process_whole():
    job = Job(resolve_config({"seed": 3}), Path("run"), "data", CheckpointEvery.parse("3steps"))
    assert pickle.loads(pickle.dumps(job)) == job
    assert pickle.loads(pickle.dumps(job)).config.origin == job.config.origin
    assert pickle.loads(pickle.dumps(Outcome("failed", "why"))) == Outcome("failed", "why")


@pytest.mark.parametrize("interface", [Launcher, LaunchedRun])
def test_an_interface_is_not_made_by_itself(interface):
    with pytest.raises(TypeError, match="abstract"):
        interface()


QUICK = {"epochs": 1, "backbone.width": 4, "tasks": 2}
NEVER = CheckpointEvery.parse("never")


def wait_for(what, seconds=60):
    """Wait until something is so; returns it."""
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)
    return found


@pytest.fixture
def launch(tmp_path):
    """Starts one run in the directory `run`; no process is left over."""
    before = multiprocessing.active_children()

    def start(settings, **options):
        config = resolve_config({**QUICK, **settings})
        return LocalLauncher(1, threads=1).launch(Job(config, tmp_path / "run", **options), 0)

    yield start
    for process in multiprocessing.active_children():
        if process not in before:
            process.kill()
            process.join()


def only_child():
    (process,) = multiprocessing.active_children()
    return process


def learning(run):
    """Whether a run has begun to learn."""
    return (run / "log.jsonl").exists() and "task started" in (run / "log.jsonl").read_text()


def without_seconds(run):
    return {**json.loads((run / "metrics.json").read_text()), "seconds": None}


def test_the_threads_are_shared_out_and_each_has_one_at_least(monkeypatch):
    monkeypatch.setattr(local_launcher, "cores", lambda: 7)
    shares = [(launcher.slots, launcher.threads) for launcher in map(LocalLauncher, (1, 2, 3, 7, 20))]
    assert shares == [(1, 7), (2, 3), (3, 2), (7, 1), (20, 1)]
    assert LocalLauncher(2, threads=5).threads == 5


def test_only_cores_that_this_process_may_use_count():
    allowed = os.sched_getaffinity(0)
    assert cores() == len(allowed)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_a_process_makes_the_run_with_its_share_of_the_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(local_launcher, "cores", lambda: 6)
    config = resolve_config({**QUICK, "regularizer": "none"})
    run = LocalLauncher(2).launch(Job(config, tmp_path / "run"), 1)
    assert run.outcome() is None
    assert wait_for(run.outcome) == Outcome("done")
    assert RunDirectory(tmp_path / "run").state() == "finished"
    environment = RunDirectory(tmp_path / "run").read_environment()
    assert (environment["threads"], environment["device"]) == (3, "cpu")
    assert not multiprocessing.active_children()


def test_gpus_are_taken_in_turn(monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    launcher = LocalLauncher(3, device="cuda")
    assert [launcher._device_of(slot) for slot in range(3)] == ["cuda:0", "cuda:1", "cuda:0"]
    assert LocalLauncher(3, device="cuda:1")._device_of(2) == "cuda:1"
    assert LocalLauncher(3)._device_of(2) == "cpu"


def test_images_that_cannot_be_had_are_a_failure_with_its_reason_in_one_line(launch, tmp_path):
    outcome = wait_for(launch({"stream": f"npz:{tmp_path / 'gone.npz'}"}).outcome)
    assert outcome.kind == "failed"
    assert "gone.npz" in outcome.reason
    assert not outcome.reason.startswith("DataError")
    assert "\n" not in outcome.reason
    assert not (tmp_path / "run").exists()


def test_a_process_that_was_killed_is_a_failure_that_names_the_signal(launch):
    run = launch({})
    os.kill(only_child().pid, signal.SIGKILL)
    assert wait_for(run.outcome) == Outcome(
        "failed", "its process was killed by SIGKILL, possibly because memory ran out"
    )


def test_a_run_that_is_asked_to_stop_can_go_on_and_ends_as_without_a_stop(launch, tmp_path):
    settings = {"epochs": 10, "regularizer": "none"}
    run = launch(settings, checkpoint_every=NEVER)
    wait_for(lambda: learning(tmp_path / "run"))
    run.stop()
    outcome = wait_for(run.outcome)
    assert outcome.kind == "stopped"
    assert outcome.reason.startswith("stopped: task ")
    assert outcome.reason.endswith(f"; resume with: casper run --resume {tmp_path / 'run'}")
    assert RunDirectory(tmp_path / "run").state() == "unfinished"
    config = resolve_config({**QUICK, **settings})
    execute(config, tmp_path / "run", warn=pytest.fail)  # threads as before
    execute(config, tmp_path / "whole")
    assert without_seconds(tmp_path / "run") == without_seconds(tmp_path / "whole")


def test_a_run_that_is_asked_to_stop_before_it_has_begun_did_not_fail(launch):
    run = launch({})
    run.stop()
    assert wait_for(run.outcome).kind == "stopped"


def test_the_signals_of_a_terminal_do_not_reach_a_run_however_early(launch):
    run = launch({"regularizer": "none"})
    process = only_child()
    for _ in range(20):  # while it begins
        for number in (signal.SIGINT, signal.SIGHUP):
            if process.is_alive():
                os.kill(process.pid, number)
        time.sleep(0.05)
    assert wait_for(run.outcome) == Outcome("done")


def test_a_run_that_another_process_is_making_is_busy_and_not_touched(launch, tmp_path):
    with run_lock(tmp_path / "run"):
        outcome = wait_for(launch({}).outcome)
    assert outcome.kind == "busy"
    assert f"is in use by process {os.getpid()} on " in outcome.reason
    assert {file.name for file in (tmp_path / "run").iterdir()} <= {".lock", ".owner"}


def outcome_here(job):
    """What a process would say, without one."""
    return local_launcher._outcome(job, "cpu")


def test_a_run_that_is_finished_is_done_without_being_made(tmp_path, monkeypatch):
    job = Job(resolve_config(QUICK), tmp_path / "run")
    execute(job.config, job.directory)
    monkeypatch.setattr("casper.runs.execution.build_trainer", lambda *_, **__: pytest.fail("built"))
    assert outcome_here(job) == Outcome("done")


def test_a_loss_that_is_not_finite_is_a_failure_in_its_own_words(tmp_path):
    outcome = outcome_here(Job(resolve_config({**QUICK, "lr": 1e30}), tmp_path / "run"))
    assert outcome.kind == "failed"
    assert outcome.reason.startswith("the loss is not finite in task 1")


def test_a_fault_of_the_program_is_named_by_its_kind_in_one_line(tmp_path, monkeypatch):
    def building(*_, **__):
        raise KeyError("a\nb")

    monkeypatch.setattr("casper.runs.execution.build_trainer", building)
    assert outcome_here(Job(resolve_config(QUICK), tmp_path / "run")) == Outcome("failed", r"KeyError: 'a\nb'")
    monkeypatch.setattr(
        "casper.runs.execution.build_trainer", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("a\n  b"))
    )
    assert outcome_here(Job(resolve_config(QUICK), tmp_path / "run")) == Outcome("failed", "RuntimeError: a b")


PARENT = """
import multiprocessing, sys, time
from pathlib import Path
from casper.config import resolve_config
from casper.runs import CheckpointEvery
from casper.sweeps import Job, LocalLauncher

config = resolve_config({"epochs": 1000, "backbone.width": 4, "tasks": 2, "regularizer": "none"})
job = Job(config, Path(sys.argv[1]), checkpoint_every=CheckpointEvery.parse("never"))
run = LocalLauncher(1, threads=1).launch(job, 0)
print(multiprocessing.active_children()[0].pid, flush=True)
time.sleep(600)
"""


def ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_run_stops_with_a_checkpoint_when_whoever_started_it_is_killed(tmp_path):
    run = tmp_path / "run"
    with (tmp_path / "errors").open("w") as errors:
        parent = subprocess.Popen(
            [sys.executable, "-c", PARENT, str(run)], stdout=subprocess.PIPE, stderr=errors, text=True
        )
    pid = None
    try:
        pid = int(parent.stdout.readline())
        wait_for(lambda: learning(run))
        parent.kill()
        parent.wait()
        wait_for(lambda: ended(pid), 30)
    finally:
        parent.kill()
        parent.communicate()
        if pid is not None and not ended(pid):
            os.kill(pid, signal.SIGKILL)
    state = load_checkpoint(run / "checkpoint.pt")["trainer"]
    assert state["position"]["step"] > 0
    assert RunDirectory(run).state() == "unfinished"
    assert (tmp_path / "errors").read_text() == ""  # a terminal sees nothing of it


def test_a_run_goes_on_with_as_many_threads_as_it_began_with(tmp_path):
    job = Job(resolve_config(QUICK), tmp_path / "run")
    assert local_launcher._threads_before(job) is None
    directory = RunDirectory(job.directory)
    directory.path.mkdir()
    directory.create(job.config, {"threads": 3})
    assert local_launcher._threads_before(job) == 3
    for damage in ("many", True, 0, 1025, 10**6, 10**23, None):
        directory.write_environment({"threads": damage})
        assert local_launcher._threads_before(job) is None


def test_what_a_run_warns_of_reaches_the_sweep(tmp_path):
    job = Job(resolve_config(QUICK), tmp_path / "run")
    with pytest.raises(ZeroDivisionError):
        execute(
            job.config,
            job.directory,
            checkpoint_every=CheckpointEvery.parse("1step"),
            listeners=[lambda event: 1 // (getattr(event, "step", 0) != 5)],
        )
    (job.directory / "checkpoint.pt").write_bytes(b"damaged")
    outcome = outcome_here(job)
    assert outcome.kind == "done"
    assert "resuming from the previous checkpoint" in outcome.reason


def made_here(run, **options):
    """Make a run as its process would, here: the process itself is tested above."""
    return local_launcher._outcome(Job(resolve_config(QUICK), run, **options), "cpu")


def kept(run):
    return len(list(run.glob("checkpoint.task*")))


def test_a_run_is_analysed_where_it_was_made_and_keeps_states_only_if_asked(launch, tmp_path):
    assert wait_for(launch({}, analyse=True).outcome).kind == "done"
    answers = json.loads((tmp_path / "run" / "analysis.json").read_text())
    assert [end["tasks_learnt"] for end in answers["task_ends"]] == [1, 2]
    assert kept(tmp_path / "run") == 0


def test_a_finished_run_that_kept_no_states_is_not_analysed_by_its_last_alone(tmp_path):
    assert made_here(tmp_path).kind == "done"
    refused = made_here(tmp_path, analyse=True)
    assert refused.kind == "failed"
    assert "has no checkpoints of its task ends; to analyse it, run it again in another --out" in refused.reason
    assert not (tmp_path / "analysis.json").exists()


def test_a_finished_run_is_analysed_from_the_states_it_kept_which_stay(tmp_path):
    assert made_here(tmp_path, keep_checkpoints=True).kind == "done"
    before = (tmp_path / "metrics.json").stat().st_mtime_ns
    assert kept(tmp_path) == 2
    assert not (tmp_path / "analysis.json").exists()
    assert made_here(tmp_path, analyse=True).kind == "done"
    assert (tmp_path / "analysis.json").exists()
    assert (tmp_path / "metrics.json").stat().st_mtime_ns == before
    assert kept(tmp_path) == 2
