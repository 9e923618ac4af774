import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from casper.cli.app import main
from casper.config import resolve_config
from casper.runs import execute

QUICK = {"epochs": 1, "backbone.width": 4, "tasks": 5}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("finished") / "run"
    execute(resolve_config(QUICK), path, keep_checkpoints=True)
    return path


@pytest.fixture(autouse=True)
def run(finished, tmp_path, monkeypatch):
    """A run that kept its states, in the directory `run`."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, "run")


def answers(path="run"):
    return json.loads((Path(path) / "analysis.json").read_text())


def test_a_line_for_each_task_end_and_each_map(capsys):
    assert main(["analyse", "run"]) == 0
    output = capsys.readouterr().out
    found = answers()
    rows = [line.split() for line in output.splitlines()]
    for end in found["task_ends"]:
        row = next(row for row in rows if row[:2] == [str(end["tasks_learnt"]), "50"])
        assert float(row[2]) == end["label_signal_variation"]
        assert float(row[4]) == pytest.approx(end["knn_5_majority"], abs=0.01)
    (only,) = found["functional_maps"]
    assert f"functional map from 2 to 5 tasks: off-diagonal energy {only['off_diagonal_energy']:.2f}" in output
    assert "written to run/analysis.json" in output


def test_every_option_reaches_the_answers():
    options = ["--neighbors", "6", "--maps", "1:3,2:5", "--rank", "7", "--embed", "3", "--features", "all.npz"]
    assert main(["analyse", "run", *options]) == 0
    found = answers()
    assert found["num_neighbors"] == 6
    assert [(each["from"], each["to"], each["rank"]) for each in found["functional_maps"]] == [(1, 3, 7), (2, 5, 7)]
    assert [end["tasks_learnt"] for end in found["task_ends"] if "embedding" in end] == [3]
    with np.load("all.npz") as arrays:
        assert arrays["memory_05"].shape[0] == 50


def test_none_is_no_map_and_no_embedding():
    assert main(["analyse", "run", "--maps", "none", "--embed", "none"]) == 0
    assert answers()["functional_maps"] == []
    assert not any("embedding" in end for end in answers()["task_ends"])


def test_what_cannot_be_found_again_is_not_asked_anew(capsys):
    assert main(["analyse", "run"]) == 0
    for file in Path("run").glob("checkpoint.task*"):
        file.unlink()
    before = Path("run/analysis.json").read_bytes()
    for options in (["--neighbors", "5"], ["--features", "all.npz"], ["--maps", "1:5"]):
        capsys.readouterr()
        assert main(["analyse", "run", *options]) == 2
        assert capsys.readouterr().err == (
            "casper: run has no checkpoints of its task ends to analyse again; run it with --keep-checkpoints\n"
        )
    assert Path("run/analysis.json").read_bytes() == before
    assert not Path("all.npz").exists()


def test_the_last_task_end_of_a_finished_run_can_always_be_asked(capsys):
    for file in Path("run").glob("checkpoint.task*"):
        file.unlink()
    assert main(["analyse", "run"]) == 0
    assert main(["analyse", "run", "--neighbors", "5"]) == 0
    assert (answers()["num_neighbors"], len(answers()["task_ends"])) == (5, 1)
    assert "run, 5 neighbours" in capsys.readouterr().out


def test_a_damaged_analysis_is_replaced_where_the_states_are_there(capsys):
    Path("run/analysis.json").write_text("{")
    assert main(["analyse", "run"]) == 0
    assert len(answers()["task_ends"]) == 5
    for file in Path("run").glob("checkpoint.*"):
        file.unlink()
    Path("run/analysis.json").write_text('{"task_ends": [{"tasks_learnt": 1}]}')
    capsys.readouterr()
    assert main(["analyse", "run"]) == 2
    assert capsys.readouterr().err.endswith("run/analysis.json is not the analysis of a run\n")


def test_features_go_into_a_directory_that_is_made():
    assert main(["analyse", "run", "--maps", "none", "--embed", "none", "--features", "new/place/all.npz"]) == 0
    assert Path("new/place/all.npz").exists()


def test_what_was_found_before_is_shown_when_no_state_is_left(capsys):
    assert main(["analyse", "run"]) == 0
    first = capsys.readouterr().out
    for file in Path("run").glob("checkpoint.task*"):
        file.unlink()
    before = Path("run/analysis.json").read_bytes()
    assert main(["analyse", "run"]) == 0
    shown = capsys.readouterr()
    assert shown.out in first
    assert "functional map" in shown.out
    assert shown.err == "casper: warning: run has no checkpoints of its task ends; this is its earlier analysis\n"
    assert Path("run/analysis.json").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "--maps", "5"], "--maps must be `none` or pairs of task ends like 5:10,1:10, but got '5'"),
        (["run", "--embed", "x"], "--embed must be `none` or task ends like 4,7,10, but got 'x'"),
        (["run", "--features", "all.txt"], "--features must be one .npz file for one run, but got 'all.txt'"),
        (["run", "run", "--features", "all.npz"], "--features must be one .npz file for one run, but got 2 runs"),
        (["run", "--neighbors", "0"], "--neighbors must be in [1, 49], fewer than the 50 points, but got 0"),
        (["run", "--rank", "0"], "--rank must be in [1, 239], at most one for each point, but got 0"),
        (["missing"], "RUNS must be directories of runs, but missing is not a directory"),
        (["."], "RUNS must be directories of runs, but . has no config.yaml; for the runs in it: ./*"),
        (["run", "--device", "abacus"], "--device must be auto, cpu, cuda or cuda:N, but got 'abacus'"),
    ],
)
def test_bad_values_are_one_line_and_status_two(arguments, complaint, capsys):
    assert main(["analyse", *arguments]) == 2
    assert capsys.readouterr().err == f"casper: {complaint}\n"
    assert not Path("run/analysis.json").exists()
