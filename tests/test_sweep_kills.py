"""What a user would see: a sweep killed with SIGKILL, its processes too, started again, and what it ends with."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from casper.runs import execute
from casper.sweeps import LaunchedRun, Launcher, Outcome, Sweep, read_sweep
from killing import changed, result, starts_from_a_state

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")

# Two are done soon, so that there are finished runs to lose; the two long ones are killed in the middle.
COMMON = {"backbone": {"width": 4}, "regularizer": "none", "tasks": 2}
RUNS = [
    {"epochs": 1, "seed": 9},
    {"method": "x-der"},
    {"method": "er-ace", "recalibrate": True},
    {"epochs": 1, "method": "er"},
]
GONE_WITHIN = 40.0  # a process that has only begun imports PyTorch before it can hear that it is alone


def status(pid):
    """Parent, state and start of a process; None: there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(fields[1]), fields[0], fields[19]


def workers_of(sweep):
    """The processes in which a sweep makes its runs, with their starts."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (seen := status(entry.name)) and seen[0] == sweep.pid and seen[1] not in "ZX":
            try:
                command = (entry / "cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if b"spawn_main" in command:
                found.append((int(entry.name), seen[2]))
    return found


def alive(process):
    seen = status(process[0])
    return seen is not None and seen[2] == process[1] and seen[1] not in "ZX"


def wait_for(what, seconds=60.0):
    until = time.monotonic() + seconds
    while not (found := what()):
        if time.monotonic() > until:
            return found
        time.sleep(0.02)
    return found


def finished(out):
    """All files of every run that is done, as they are."""
    return {
        file: (file.read_bytes(), file.stat().st_mtime_ns)
        for metrics in out.glob("*/metrics.json")
        for file in metrics.parent.iterdir()
        if file.name not in (".lock", ".owner")
    }


def sweep_command(file, out):
    return [
        *(sys.executable, "-m", "casper", "sweep", str(file), "--out", str(out)),
        *("--jobs", "2", "--threads", "1", "--checkpoint-every", "0.2s", "--no-estimate"),
    ]


class RunHere(LaunchedRun):
    """A run that was made, undisturbed, when it was launched."""

    def outcome(self):
        return Outcome("done")

    def stop(self):
        pass


class LaunchHere(Launcher):
    slots = 1

    def launch(self, job, slot):
        execute(job.config, job.directory)
        return RunHere()


def let_it_end(file, out):
    ended = subprocess.run(sweep_command(file, out), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def results(out):
    return set(out.glob("*/metrics.json"))


def failures(out):
    return set(out.glob("*/failure.json"))


def checkpoints(out):
    return {file: changed(file) for file in out.glob("*/checkpoint.pt")}


def kill_a_worker(sweep, out, draws):
    """Kill one of a sweep's processes; the sweep takes it down, unless the run had just ended, and goes on."""
    failed, done = failures(out), results(out)
    os.kill(draws.choice(sorted(workers_of(sweep)))[0], signal.SIGKILL)
    assert wait_for(lambda: failures(out) > failed or results(out) > done), (
        "the sweep did not see that a run was killed"
    )
    for record in failures(out) - failed:
        assert "SIGKILL" in json.loads(record.read_text())["reason"]
    assert sweep.poll() is None


def kill_and_look(file, out, draws, *, due, worker):
    """Start the sweep, kill it soon after something has happened, and see that no process is left of it."""
    sweep = subprocess.Popen(sweep_command(file, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_for(lambda: workers_of(sweep)), "no run was started"
        assert wait_for(due)
        time.sleep(draws.uniform(0, 0.5))
        if worker:
            kill_a_worker(sweep, out, draws)
            time.sleep(draws.uniform(0, 0.5))
        assert sweep.poll() is None, "the sweep ended before it was killed"
    finally:
        workers = workers_of(sweep)
        sweep.kill()
        sweep.wait()
        gone = wait_for(lambda: not any(map(alive, workers)), GONE_WITHIN)
        for process in filter(alive, workers):
            os.kill(process[0], signal.SIGKILL)
    assert gone, "a process outlived its sweep"


def moment(out, draws, number):
    """Choose what has to happen before a kill: a result at first; then a step was made, or (often) a while passed."""
    begun, before, until = time.monotonic(), checkpoints(out), draws.uniform(0, 8)
    if number == 0:
        return lambda: results(out)
    if number % 3 == 0:
        return lambda: time.monotonic() - begun > until
    return lambda: checkpoints(out) != before


def assert_kills_cost_nothing(tmp_path, *, rounds, epochs, seed):
    file, whole, out = tmp_path / "sweep.yaml", tmp_path / "whole", tmp_path / "out"
    file.write_text(json.dumps({**COMMON, "runs": [{"epochs": epochs, **run} for run in RUNS]}))
    Sweep(read_sweep(file), whole).run(LaunchHere())
    draws, done = random.Random(seed), {}
    for number in range(rounds):
        kill_and_look(file, out, draws, due=moment(out, draws, number), worker=number % 3 == 1)
        now = finished(out)
        assert done.items() <= now.items(), "a finished run was touched"
        done = now
    ended = len(results(out))
    assert 1 <= ended < len(RUNS)
    output = let_it_end(file, out)
    assert done.items() <= finished(out).items(), "a finished run was touched"
    assert output.startswith(f"{len(RUNS)} runs: {ended} done, ")
    assert output.endswith(f"{len(RUNS)} runs: {len(RUNS)} done; in {out}\n")
    assert not failures(out)
    names = {path.name for path in whole.iterdir()}
    assert {path.name for path in out.iterdir()} == names
    assert len(names) == len(RUNS)
    for name in names:
        assert result(out / name) == result(whole / name)
    return sum(starts_from_a_state(out / name) for name in names)


def test_two_kills_of_a_sweep_lose_no_run_and_repeat_none(tmp_path):
    assert assert_kills_cost_nothing(tmp_path, rounds=2, epochs=30, seed=1) >= 1


@pytest.mark.soak
@pytest.mark.parametrize("seed", [0, 1])
def test_twelve_kills_of_a_sweep_lose_no_run_and_repeat_none(tmp_path, seed):
    starts = assert_kills_cost_nothing(tmp_path, rounds=12, epochs=150, seed=seed)
    print(f"seed {seed}: twelve kills, every third after one of a single run; {starts} starts from a state; none lost")
    assert starts >= 6


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_sweep_that_is_asked_to_stop_keeps_its_runs_and_goes_on(tmp_path, number):
    file, out = tmp_path / "sweep.yaml", tmp_path / "out"
    file.write_text(json.dumps({**COMMON, "epochs": 1000, "grid": {"seed": [0, 1, 2]}}))
    sweep = subprocess.Popen(
        sweep_command(file, out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert wait_for(lambda: len(checkpoints(out)) == 2)
        workers = workers_of(sweep)
        if number == signal.SIGINT:  # as a terminal does: to every process of the group
            os.killpg(sweep.pid, number)
        else:
            sweep.send_signal(number)
        output, complaint = sweep.communicate(timeout=60)
    finally:
        sweep.kill()
    assert sweep.returncode == 128 + number
    assert not any(map(alive, workers))
    assert output.count("unfinished  stopped: ") == 2  # within a task, or before the first
    assert "finish their step and write a checkpoint" in complaint
    assert complaint.endswith("casper: stopped; 3 runs: 1 missing, 2 unfinished; the same command resumes\n")
    assert not failures(out)
    assert len(results(out)) == 0
