import json
from pathlib import Path

import pytest
import yaml

from casper.cli.app import main
from finished import rising, write_run


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    """Two seeds of plain ER and of ER with CaSpeR, in the folder `runs`."""
    monkeypatch.chdir(tmp_path)
    for name, final in (("none", 60.0), ("casper", 61.0)):
        for seed in (0, 1):
            write_run(Path("runs"), {"method": "er", "regularizer": [name], "seed": seed}, rising(name, final, seed))


def test_on_the_console(capsys):
    assert main(["report", "runs"]) == 0
    output = capsys.readouterr().out
    assert "Class-IL: final average accuracy (%) on split-digits" in output
    lines = [line.split() for line in output.splitlines()]
    assert ["er", "60.50", "±", "0.71", "(2)"] in lines
    assert ["+", "casper", "61.50", "±", "0.71", "(2)", "+1.00", "[+1.00,", "+1.00]", "▲"] in lines
    assert "one version of the code" in output
    assert "k-NN" not in output
    assert all(len(line) <= 80 for line in output.splitlines())


def test_into_files(capsys):
    assert main(["report", "runs", "--out", "a.md", "--out", "b/c.html", "--title", "My runs"]) == 0
    assert capsys.readouterr().out.splitlines() == ["4 runs; written to a.md", "4 runs; written to b/c.html"]
    assert Path("a.md").read_text("utf-8").startswith("# My runs\n")
    assert "5-NN probe" in Path("a.md").read_text("utf-8")
    assert "<h1>My runs</h1>" in Path("b/c.html").read_text("utf-8")
    assert main(["report", "runs", "--out", "d.md"]) == 0
    assert Path("d.md").read_text("utf-8").startswith("# runs\n")


def test_one_run_is_a_report_too(capsys):
    place = sorted(Path("runs").iterdir())[0]
    assert main(["report", str(place)]) == 0
    assert "(1)" in capsys.readouterr().out


def test_the_runs_of_a_sweep_alone(capsys):
    layout = {"title": "Some of them", "method": "er", "regularizer": "none", "grid": {"seed": [0, 1, 2]}}
    Path("some.yaml").write_text(json.dumps(layout))
    assert main(["report", "runs", "--sweep", "some.yaml", "--out", "some.md"]) == 0
    assert Path("some.md").read_text("utf-8").startswith("# Some of them\n")
    capsys.readouterr()
    assert main(["report", "runs", "--sweep", "some.yaml"]) == 0
    output = capsys.readouterr().out
    assert "casper" not in output.partition("Mean")[0]
    assert "Not included because unfinished: 1 run." in output


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "nowhere cannot be read: No such file or directory"),
        (["."], ". is neither a run nor a folder of runs"),
        (["runs", "--out", "a.pdf"], "--out must end in .md, .html, .tex, .csv, but got 'a.pdf'"),
        (["runs", "--sweep", "none.yaml"], "none.yaml cannot be read: No such file or directory"),
    ],
)
def test_complaints_are_one_line(arguments, complaint, capsys):
    assert main(["report", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err == f"casper: {complaint}\n"
    assert captured.out == ""


def test_nothing_is_read_before_a_kind_of_file_is_refused(capsys):
    assert main(["report", "nowhere", "--out", "a.pdf"]) == 2
    assert "must end in" in capsys.readouterr().err


def test_a_run_that_cannot_be_read_is_a_warning(capsys):
    place = sorted(Path("runs").iterdir())[0]
    (place / "metrics.json").write_text("{")
    assert main(["report", "runs"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith(f"casper: warning: left out: {place}/metrics.json must be JSON")
    assert captured.err.count("\n") == 1
    assert "Not included because unfinished: 1 run." in captured.out


def test_the_runs_of_a_sweep_are_known_by_their_configuration(capsys):
    place = sorted(Path("runs").glob("*none-0-*"))[0]
    place.rename("runs/renamed")
    Path("some.yaml").write_text(json.dumps({"method": "er", "regularizer": "none", "grid": {"seed": [0, 1]}}))
    assert main(["report", "runs", "--sweep", "some.yaml"]) == 0
    assert "60.50 ± 0.71 (2)" in capsys.readouterr().out


def test_no_module_of_the_user_is_imported(capsys):
    Path("trap.py").write_text("raise SystemExit('imported')")
    for place in Path("runs").iterdir():
        layout = yaml.safe_load((place / "config.yaml").read_text())
        if layout["regularizer"] == ["casper"]:
            del layout["casper"]
            layout["regularizer"], layout["trap:Term"] = ["trap:Term"], {"weight": 0.1}
            layout["origin"]["trap:Term.weight"] = "default"
            (place / "config.yaml").write_text(yaml.safe_dump(layout))
    sweep = {"method": "er", "grid": {"regularizer": ["none", "trap:Term"], "seed": [0, 1, 2]}}
    Path("sweep.yaml").write_text(json.dumps(sweep))
    assert main(["report", "runs", "--sweep", "sweep.yaml", "--out", "a.md"]) == 0
    assert capsys.readouterr().out == "4 runs; written to a.md\n"
    assert "Not included because unfinished: 2 runs." in Path("a.md").read_text("utf-8")


def test_a_users_regularizer_is_compared_like_those_of_the_package(capsys):
    for place in Path("runs").iterdir():
        layout = yaml.safe_load((place / "config.yaml").read_text())
        if layout["regularizer"] == ["casper"]:
            del layout["casper"]
            layout["regularizer"], layout["trap:Term"] = ["trap:Term"], {"weight": 0.1}
            (place / "config.yaml").write_text(yaml.safe_dump(layout))
            metrics = json.loads((place / "metrics.json").read_text())
            metrics["user_code"] = {"trap:Term": {"name": "my-term", "digest": "aaa"}}
            (place / "metrics.json").write_text(json.dumps(metrics))
    assert main(["report", "runs"]) == 0
    output = capsys.readouterr().out
    assert output.count("Class-IL: final average accuracy (%) on split-digits\n") == 1
    lines = [line.split() for line in output.splitlines()]
    assert ["+", "my-term", "61.50", "±", "0.71", "(2)", "+1.00", "[+1.00,", "+1.00]", "▲"] in lines
