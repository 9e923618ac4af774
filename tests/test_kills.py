"""What a user would see: a process killed with SIGKILL, again and again, and the bits it ends with."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from casper.config.registry import METHODS
from killing import assert_same_end, kill_again_and_again, run_whole, starts_from_a_state

RUN = ["run", "--method", "x-der", "--recalibrate", "--threads", "1", "--checkpoint-every", "0.2s"]


def test_two_kills_at_random_moments_cost_no_bit(tmp_path):
    whole, run = tmp_path / "whole", tmp_path / "run"
    settings = [*RUN, "--epochs", "8", "--tasks", "2", "--out"]
    startup, seconds = run_whole([*settings, str(whole)])
    begin = [*settings, str(run)]
    # Every process gets further than the one before, on average; two of them do not reach the end.
    kill_again_and_again(run, begin, begin, kills=2, lifetimes=(startup / 2, startup + seconds / 8), seed=1)
    assert_same_end(whole, run)
    assert starts_from_a_state(run) >= 1


# Kills the process as it is about to rename a file for the n-th time.
_KILLED_AT = """
import os, sys
from casper import files
from casper.cli.app import main

class Deadly(files.Disk):
    left = int(sys.argv.pop(1))

    def replace(self, source, target):
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), 9)
        super().replace(source, target)

files.disk = Deadly()
sys.exit(main(sys.argv[1:]))
"""


def killed_at(number, arguments):
    ended = subprocess.run(
        [sys.executable, "-c", _KILLED_AT, str(number), *arguments], capture_output=True, check=False
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_kill_between_two_renamings_forgets_no_option(tmp_path, number):
    run = tmp_path / "run"
    quick = ["--epochs", "1", "--set", "backbone.width=4", "--tasks", "2", "--regularizer", "none", "--threads", "1"]
    begin = ["run", *quick, "--keep-checkpoints", "--out", str(run)]
    killed_at(number, begin)
    again = ["run", "--resume", str(run)] if (run / "config.yaml").exists() else begin
    ended = subprocess.run([sys.executable, "-m", "casper", *again], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    environment = json.loads((run / "environment.json").read_text())
    assert (environment["keep_checkpoints"], environment["threads"]) == (True, 1)
    assert len(list(run.glob("checkpoint.task-*.pt"))) == 2
    assert not list(run.glob("*.tmp"))


@pytest.mark.parametrize("number", [7, 8, 9])  # before metrics.json, embedding.npz, analysis.json
def test_the_same_command_resumes_after_a_kill_between_result_and_analysis(tmp_path, number):
    run = tmp_path / "run"
    quick = ["--epochs", "1", "--set", "backbone.width=4", "--tasks", "2", "--regularizer", "none", "--threads", "1"]
    begin = ["run", *quick, "--analyse", "--checkpoint-every", "never", "--out", str(run)]
    killed_at(number, begin)
    assert (run / "metrics.json").exists() == (number > 7)
    assert not (run / "analysis.json").exists()
    ended = subprocess.run([sys.executable, "-m", "casper", *begin], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(json.loads((run / "analysis.json").read_text())["task_ends"]) == 2
    assert not list(run.glob("checkpoint.task-*.pt"))


# A trunk that takes its time, and writes down what it computes.
_SLOW_TRUNK = """
import time
from pathlib import Path
from casper import Trunk

class Slow(Trunk):
    dim, weights = 3, "1"

    def features(self, images):
        time.sleep(0.02)
        with Path("computed").open("a") as file:
            file.write("x" * len(images))
        return images.mean(dim=(2, 3))
"""


def test_a_kill_while_features_are_computed_costs_at_most_one_block_of_them(tmp_path):
    (tmp_path / "slow.py").write_text(_SLOW_TRUNK)
    begin = ["run", "--trunk", "slow:Slow", "--epochs", "1", "--regularizer", "none", "--threads", "1", "--out", "run"]
    here = {"cwd": tmp_path, "env": {**os.environ, "CASPER_CACHE": str(tmp_path / "cache")}}
    process = subprocess.Popen([sys.executable, "-m", "casper", *begin], stderr=subprocess.DEVNULL, **here)
    until = time.monotonic() + 60
    while len(list(tmp_path.glob("cache/features/*/*.npy"))) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert process.returncode == -signal.SIGKILL
    stored = len(list(tmp_path.glob("cache/features/*/*.npy")))
    assert 3 <= stored < 20  # ten classes of training and of test images, each one block
    assert not (tmp_path / "run" / "metrics.json").exists()
    ended = subprocess.run(
        [sys.executable, "-m", "casper", *begin], capture_output=True, text=True, check=False, **here
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(list(tmp_path.glob("cache/features/*/*.npy"))) == 20
    assert 1797 <= len((tmp_path / "computed").read_text()) <= 1797 + 121  # the largest class


# Each method is killed this often; a few times are enough to see that the test works.
KILLS = int(os.environ.get("SOAK_KILLS", "30"))
OF_A_METHOD = {"x-der": ["--recalibrate"], "ccic": ["--labels-per-class", "20"], "podnet": ["--keep-checkpoints"]}


@pytest.mark.soak
@pytest.mark.parametrize("method", METHODS)
def test_kills_of_every_method_half_of_them_during_a_write_cost_no_bit(tmp_path, method):
    kills = caught = starts = seed = 0
    while kills < KILLS:
        whole, run = tmp_path / f"whole-{seed}", tmp_path / f"run-{seed}"
        common = ["--threads", "1", "--checkpoint-every", "0.2s"]
        settings = ["run", "--method", method, *OF_A_METHOD.get(method, []), *common, "--epochs", "30"]
        startup, seconds = run_whole([*settings, "--seed", str(seed), "--out", str(whole)])
        now, half = kill_again_and_again(
            run,
            [*settings, "--seed", str(seed), "--out", str(run)],
            ["run", "--resume", str(run), *common],
            kills=KILLS - kills,
            lifetimes=(startup / 2, startup + seconds / 20),
            seed=seed,
            slow=0.05,
            may_end=True,
        )
        assert_same_end(whole, run)
        kills, caught, starts, seed = kills + now, caught + half, starts + starts_from_a_state(run), seed + 1
    print(f"{method}: {kills} kills of {seed} runs, {caught} left half a checkpoint, {starts} resumed; no bit lost")
    assert caught >= KILLS // 5
    assert starts >= KILLS // 5
