"""Real runs in processes of their own, killed at any moment and started again."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import torch

from casper.training import load_checkpoint

# Puts a disk in the place of the real one that takes its time over every operation and says when it writes.
_SLOW = """
import os, sys, time
from casper import files
from casper.cli.app import main

class Slow(files.Disk):
    def write(self, file, data):
        part = max(1, len(data) // 4)
        for start in range(0, len(data), part):
            time.sleep(float(os.environ["SLOW"]))
            super().write(file, data[start : start + part])

    def sync(self, file):
        time.sleep(float(os.environ["SLOW"]))
        super().sync(file)

    def replace(self, source, target):
        time.sleep(float(os.environ["SLOW"]))
        super().replace(source, target)

    def sync_directory(self, directory):
        time.sleep(float(os.environ["SLOW"]))
        super().sync_directory(directory)

files.disk = Slow()
sys.exit(main(sys.argv[1:]))
"""


def command(arguments, slow):
    return [sys.executable, "-c", _SLOW, *arguments] if slow else [sys.executable, "-m", "casper", *arguments]


def run_whole(arguments):
    """Make a run without a stop; returns how long a process takes to begin, and how long the run takes then."""
    marks = [time.monotonic()]
    for part in (["--version"], arguments):
        subprocess.run(command(part, slow=0), check=True, capture_output=True)
        marks.append(time.monotonic())
    startup = marks[1] - marks[0]
    return startup, marks[2] - marks[1] - startup


def kill_again_and_again(run, first, again, *, kills, lifetimes, seed, slow=0.0, may_end=False):
    """Start a run, kill it, start it again, until it was killed `kills` times; then let it end.

    Args:
        run: Its directory.
        first: The arguments that begin the run.
        again: The arguments that go on with it, once there is anything to go on with.
        kills: How often it is killed.
        lifetimes: How long a process lives, at least and at most, in seconds; drawn anew every time.
        seed: Determines the moments.
        slow: How long every operation on the disk takes; if it does, every other process is killed while it writes a
            checkpoint, rather than at a random time.
        may_end: Whether the run may end before it was killed that often.

    Returns:
        How often it was killed, and how many of the kills left half a checkpoint behind.
    """
    draws = random.Random(seed)
    caught = killed = 0
    environment = {**os.environ, "SLOW": str(slow)}
    for number in range(kills):
        old = half_written(run)  # by an earlier kill
        process = subprocess.Popen(
            command(again if (run / "config.yaml").exists() else first, slow),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        if slow and number % 2:
            while process.poll() is None and not half_written(run) - old:
                time.sleep(0.001)
            time.sleep(draws.uniform(0, 9 * slow))  # four parts, a sync, two renamings, the directory's sync
        else:
            time.sleep(draws.uniform(*lifetimes))
        # The last one leaves a state behind however slow the machine is, so that something goes on from one.
        while number == kills - 1 and process.poll() is None and not (run / "checkpoint.pt").exists():
            time.sleep(0.001)
        alive = process.poll() is None
        process.send_signal(signal.SIGKILL)
        _, error = process.communicate()
        if may_end and process.returncode == 0:
            break
        assert alive, f"the run ended before it was killed {kills} times: {process.returncode} {error}"
        killed += 1
        caught += bool(half_written(run) - old)
    ended = subprocess.run(command(again, slow=0), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return killed, caught


def half_written(run):
    """The temporary files of a run's checkpoint, each of another write."""
    return {file.name for file in run.glob("checkpoint.pt.*.tmp")}


def changed(path):
    """When a file was changed last; None: it is not there."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return None


def all_bytes(state):
    """Every value of a nested state, tensors as their bytes."""
    if isinstance(state, dict):
        return {key: all_bytes(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return [all_bytes(value) for value in state]
    return state.contiguous().numpy().tobytes() if torch.is_tensor(state) else state


def final_state(run):
    """All bytes at the end of a run: network, memory with its columns and counter, generators, optimizer, record."""
    return all_bytes({**load_checkpoint(run / "checkpoint.pt")["trainer"], "seconds": None})


def starts_from_a_state(run):
    """How often a process went on from a checkpoint."""
    return len(json.loads((run / "environment.json").read_text()).get("resumed", []))


def result(run):
    metrics = json.loads((run / "metrics.json").read_text())
    metrics.pop("seconds")
    return metrics


def assert_same_end(first, second):
    assert result(first) == result(second)
    assert final_state(first) == final_state(second)
