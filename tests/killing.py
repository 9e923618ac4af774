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


def kill_again_and_again(first, again, *, kills, lifetimes, seed, slow=0.0, writing=None):
    """Start a run, kill it, start it again, until it was killed `kills` times; then let it end.

    Args:
        first: The arguments that begin the run.
        again: The arguments that go on with it.
        kills: How often it is killed.
        lifetimes: How long a process lives, at least and at most, in seconds; drawn anew every time.
        seed: Determines the moments.
        slow: How long every operation on the disk takes.
        writing: A file; every other process is killed a moment after it appears, rather than at a random time.

    Returns:
        How many of the kills came while that file was there.
    """
    draws = random.Random(seed)
    caught = 0
    environment = {**os.environ, "SLOW": str(slow)}
    for number in range(kills):
        process = subprocess.Popen(
            command(again if number else first, slow),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        if writing is not None and number % 2:
            old = writing.stat().st_mtime_ns if writing.exists() else None
            while process.poll() is None and not (writing.exists() and writing.stat().st_mtime_ns != old):
                time.sleep(0.001)
            time.sleep(draws.uniform(0, 4 * slow))
        else:
            time.sleep(draws.uniform(*lifetimes))
        alive = process.poll() is None
        process.send_signal(signal.SIGKILL)
        _, error = process.communicate()
        assert alive, f"the run ended before it was killed {kills} times: {process.returncode} {error}"
        caught += writing is not None and writing.exists()
    ended = subprocess.run(command(again, slow=0), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return caught


def weights_and_memory(run):
    """All bytes of the network and of the memory at the end of a run."""
    state = load_checkpoint(run / "checkpoint.pt")["trainer"]
    tensors = {**state["net"], **{name: value for name, value in state["memory"].items() if torch.is_tensor(value)}}
    return {name: value.contiguous().numpy().tobytes() for name, value in tensors.items()}


def result(run):
    metrics = json.loads((run / "metrics.json").read_text())
    metrics.pop("seconds")
    return metrics


def assert_same_end(first, second):
    assert result(first) == result(second)
    assert weights_and_memory(first) == weights_and_memory(second)
