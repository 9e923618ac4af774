"""Runs that crash in the middle, and what must be the same when they are resumed."""

import json

import pytest

from casper.config import ConfigError
from casper.runs import CheckpointEvery, execute
from casper.training import StepDone, load_checkpoint
from support import assert_same_state

QUICK = {"epochs": 1, "backbone.width": 4, "tasks": 2}
EVERY_STEP = CheckpointEvery.parse("1step")


class CrashError(Exception):
    pass


def read(path):
    return json.loads((path / "metrics.json").read_text())


def crash_at(kind, number):
    """A listener that ends the run at the `number`-th event of a kind."""
    count = 0

    def listen(event):
        nonlocal count
        count += isinstance(event, kind)
        if isinstance(event, kind) and count == number:
            raise CrashError

    return listen


def crashed(config, out, kind=StepDone, number=20, **options):
    """Begin a run and have it crash."""
    with pytest.raises(CrashError):
        execute(config, out, listeners=[crash_at(kind, number)], **options)


def assert_refused_and_untouched(config, run, complaint):
    """The run is not gone on with, for this reason, and no byte of its directory changes."""
    before = {file.name: file.read_bytes() for file in run.iterdir()}
    with pytest.raises(ConfigError, match=complaint):
        execute(config, run)
    assert {file.name: file.read_bytes() for file in run.iterdir()} == before


def without_times(path):
    """The lines of a log without what may differ between two runs."""
    lines = [json.loads(line) for line in (path / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if "seconds" not in key} for line in lines]


def assert_same_run(first, second):
    """Weights, memory, everything in the state, the result and the log: bit for bit, but for times."""
    assert {**read(first), "seconds": None} == {**read(second), "seconds": None}
    states = [load_checkpoint(path / "checkpoint.pt") for path in (first, second)]
    for state in states:
        state["trainer"]["seconds"] = state["log"]["size"] = state["log"]["checksum"] = None
    assert_same_state(*states)
    assert without_times(first) == without_times(second)
