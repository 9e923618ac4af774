import inspect
import json
from pathlib import Path

import pytest

from casper.cli.app import main
from casper.cli.many_runs import HowToRun, makes_many_runs
from casper.config import resolve_config
from casper.runs import RunDirectory
from casper.runs.lock import run_lock
from casper.sweeps import LocalLauncher

FILE = "mine.yaml"


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quick = {"epochs": 1, "backbone": {"width": 4}, "tasks": 2, "regularizer": "none"}
    Path(FILE).write_text(json.dumps(quick))
    Path("bad.yaml").write_text(json.dumps({**quick, "lr": 1e30}))


@pytest.fixture
def launched(monkeypatch):
    """The error by which a run that is launched is known."""

    class LaunchedError(Exception):
        pass

    def launch(*_):
        raise LaunchedError

    monkeypatch.setattr(LocalLauncher, "launch", launch)
    return LaunchedError


def test_a_command_takes_the_shared_options_as_one():
    seen = {}

    @makes_many_runs
    def command(place: str, how: HowToRun, own: int = 3) -> None:
        """Do something."""
        seen.update(place=place, own=own, how=how)

    assert [*inspect.signature(command).parameters] == ["place", "own", *HowToRun.__dataclass_fields__]
    assert command.__doc__ == "Do something."
    values = {name: field.default for name, field in HowToRun.__dataclass_fields__.items()}
    command(place="here", own=4, **{**values, "jobs": 7})
    assert seen == {"place": "here", "own": 4, "how": HowToRun(jobs=7)}


def test_what_cannot_be_read_is_told_and_the_others_are_made(launched, capsys):
    place = Path("out") / resolve_config({"epochs": 1, "backbone.width": 4, "tasks": 2, "regularizer": ["none"]}).name
    place.mkdir(parents=True)
    (place / "letter.txt").touch()
    assert main(["sweep", FILE, "--out", "out", "--dry-run"]) == 0
    captured = capsys.readouterr()
    assert "1 run: 1 failed" in captured.out
    assert captured.err.startswith(f"casper: warning: run directory {place} should be new, empty or a run's; found ")
    assert captured.err.count("\n") == 1
    assert main(["sweep", FILE, "--out", "out"]) == 1


def test_without_an_estimate_no_trial_is_made(launched, monkeypatch, capsys):
    monkeypatch.setattr("casper.cli.many_runs.estimate", lambda *_, **__: pytest.fail("estimated"))
    with pytest.raises(launched):
        main(["sweep", FILE, "--no-estimate", "--jobs", "1"])
    assert "estimated" not in capsys.readouterr().out


def test_the_usual_number_of_jobs_is_that_of_the_cores(monkeypatch, capsys):
    monkeypatch.setattr("casper.cli.many_runs.cores", lambda: 5)
    monkeypatch.setattr("casper.sweeps.launcher.cores", lambda: 5)
    assert main(["sweep", FILE, "--dry-run"]) == 0
    assert "5 at a time, threads of each: 1" in capsys.readouterr().out


def test_a_run_whose_time_cannot_be_tried_is_made_all_the_same(launched, capsys):
    with pytest.raises(launched):
        main(["sweep", "bad.yaml", "--jobs", "1"])
    assert "estimated time: unknown (" in capsys.readouterr().out


def test_a_dry_run_says_what_failed_before_and_what_is_under_way(capsys):
    quick = {"epochs": 1, "backbone.width": 4, "tasks": 2, "regularizer": ["none"]}
    directory = RunDirectory(Path("out") / resolve_config(quick).name)
    directory.write_failure("out of luck")
    assert main(["sweep", FILE, "--out", "out", "--dry-run"]) == 0
    assert f"missing    {directory.path.name}  failed before: out of luck\n" in capsys.readouterr().out
    with run_lock(directory.path):
        assert main(["sweep", FILE, "--out", "out", "--dry-run"]) == 0
    assert f"missing    {directory.path.name}  under way: process " in capsys.readouterr().out
