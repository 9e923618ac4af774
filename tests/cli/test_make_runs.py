import json
from pathlib import Path

import pytest

from casper.cli.app import main
from casper.cli.make_runs import telling_apart
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


def test_what_cannot_be_read_is_told_and_the_others_are_made(launched, capsys):
    place = Path("out") / resolve_config({"epochs": 1, "backbone.width": 4, "tasks": 2, "regularizer": ["none"]}).name
    place.mkdir(parents=True)
    (place / "letter.txt").touch()
    assert main(["sweep", FILE, "--out", "out", "--dry-run"]) == 0
    captured = capsys.readouterr()
    assert "1 run: 1 failed" in captured.out
    assert captured.err.startswith(f"casper: warning: run directory {place} must be new, empty or of a run, but has ")
    assert captured.err.count("\n") == 1
    assert main(["sweep", FILE, "--out", "out"]) == 1


@pytest.mark.parametrize("option", ["--estimate", "--no-estimate"])
def test_the_time_is_estimated_from_the_runs_that_are_done(option, capsys):
    quick = json.loads(Path(FILE).read_text())
    assert main(["sweep", FILE, "--out", "out", "--jobs", "1", option]) == 0
    assert "estimated time" not in capsys.readouterr().out  # nothing is done that could tell
    Path(FILE).write_text(json.dumps({**quick, "grid": {"seed": [0, 1]}}))
    assert main(["sweep", FILE, "--out", "out", "--jobs", "1", option]) == 0
    output = capsys.readouterr().out
    assert ("estimated time: about " in output) == (option == "--estimate")
    assert "2 runs: 2 done" in output


def test_the_usual_number_of_jobs_is_that_of_the_cores(monkeypatch, capsys):
    monkeypatch.setattr("casper.cli.make_runs.cores", lambda: 5)
    monkeypatch.setattr("casper.sweeps.launcher.cores", lambda: 5)
    assert main(["sweep", FILE, "--dry-run"]) == 0
    assert "5 at a time with 1 thread each" in capsys.readouterr().out


def test_features_of_trunks_are_computed_first_and_once_for_all_runs(launched, monkeypatch):
    built = []
    monkeypatch.setattr("casper.cli.make_runs.build_stream", lambda config, **_: built.append(config.options))
    shared = {"epochs": 1, "regularizer": "none", "trunk": "support:Rows"}
    grid = {"seed": [0, 1], "method": ["er", "er-ace"], "trunk.views": [1, 2], "tasks": [2, 5]}
    Path("trunks.yaml").write_text(json.dumps({**shared, "grid": grid}))
    with pytest.raises(launched):
        main(["sweep", "trunks.yaml"])
    assert len(built) == 2
    built.clear()
    rotated = {**shared, "stream": "rotated-digits", "grid": {"seed": [0, 1], "method": ["er", "er-ace"]}}
    Path("trunks.yaml").write_text(json.dumps(rotated))
    with pytest.raises(launched):
        main(["sweep", "trunks.yaml"])
    assert [options.seed for options in built] == [0, 1]
    with pytest.raises(launched):
        main(["sweep", FILE])
    assert len(built) == 2


def test_a_dry_run_says_what_failed_before_and_what_is_running(capsys):
    quick = {"epochs": 1, "backbone.width": 4, "tasks": 2, "regularizer": ["none"]}
    directory = RunDirectory(Path("out") / resolve_config(quick).name)
    directory.write_failure("out of luck")
    assert main(["sweep", FILE, "--out", "out", "--dry-run"]) == 0
    assert f"missing    {directory.path.name}  failed before: out of luck\n" in capsys.readouterr().out
    with run_lock(directory.path):
        assert main(["sweep", FILE, "--out", "out", "--dry-run"]) == 0
    assert f"missing    {directory.path.name}  running: process " in capsys.readouterr().out


def texts(*given):
    return list(telling_apart([resolve_config({"epochs": 2, **each}) for each in given]).values())


def test_runs_of_nearly_the_same_name_are_told_apart_by_their_options():
    sizes = [{"stream": "split-cifar100", "buffer_size": size} for size in (500, 2000)]
    assert texts(*sizes) == ["buffer_size=500", "buffer_size=2000"]  # and other published settings, which follow


def test_or_by_their_hyper_parameters():
    assert texts({"casper.weight": 0.1}, {"casper.weight": 0.2}) == ["casper.weight=0.1", "casper.weight=0.2"]


def test_or_by_both_if_the_options_do_not_suffice():
    given = [{"lr": lr, "casper.weight": weight} for lr in (0.1, 0.3) for weight in (0.1, 0.2)]
    both = [f"casper.weight={each['casper.weight']}, lr={each['lr']}" for each in given]
    assert texts(*given) == both


def test_what_only_one_run_has():
    assert texts({}, {"casper.self_neighbor": True}) == ["casper.self_neighbor=null", "casper.self_neighbor=true"]


def test_runs_with_names_of_their_own_need_no_words():
    assert texts({"seed": 0}, {"seed": 1}, {"method": "er"}) == ["", "", ""]
