from pathlib import Path

import pytest

from casper.cli.app import main
from finished import InstantLauncher, rising

ONE = ["--protocol", "desk", "--only", "er-ace,split-cifar100,500", "--seeds", "2"]


def accuracy(config):
    names = config.options.regularizer
    return rising("+".join(names), 20.0 + len(names), config.options.seed)


@pytest.fixture(autouse=True)
def launcher(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    launcher = InstantLauncher(accuracy)
    monkeypatch.setattr("casper.cli.make_runs.LocalLauncher", lambda *_, **__: launcher)
    return launcher


def test_a_table_with_the_papers_figures_beside_ours(launcher, capsys):
    assert main(["reproduce", "cil", *ONE]) == 0
    output = capsys.readouterr().out
    assert output.startswith("cil: Class-IL: final average accuracy and adjusted forgetting; desk protocol, 2 seeds\n")
    assert "4 runs: 4 missing; in runs/reproduce" in output
    lines = [line.split() for line in output.splitlines()]
    assert ["er-ace", "20.50", "±", "0.71", "(2)", "34.99"] in lines
    assert ["+", "casper", "21.50", "±", "0.71", "(2)", "+1.00", "[+1.00,", "+1.00]", "▲", "36.70", "(+1.71)"] in lines
    assert "not the paper's experiments" in output
    assert "Task-IL" not in output
    assert Path("runs/reproduce/cil-desk-er-ace-split-cifar100-500.md").read_text("utf-8").count("## ") == 1
    assert Path("runs/reproduce/cil-desk-er-ace-split-cifar100-500.html").exists()
    assert {config.options.epochs for config in launcher.launched} == {4}


def test_started_again_it_makes_what_is_missing(launcher, capsys):
    assert main(["reproduce", "cil", *ONE]) == 0
    launcher.launched.clear()
    assert main(["reproduce", "cil", *ONE, "--also", "forward-only"]) == 0
    assert [config.options.regularizer for config in launcher.launched] == [["forward-only"]] * 2
    assert "+ forward-only" in capsys.readouterr().out


def test_a_measure_that_is_no_accuracy(capsys):
    assert main(["reproduce", "knn", "--protocol", "desk", "--only", "er-ace", "--seeds", "1"]) == 0
    output = capsys.readouterr().out
    assert "k-NN probe, 5 neighbours: accuracy (%) on split-cifar100, desk protocol" in output
    assert "43.73" in output


def test_dry_run_lists_and_writes_nothing(launcher, tmp_path, capsys):
    assert main(["reproduce", "scr", "--dry-run", "--seeds", "1", "--only", "500"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("scr: ")
    assert sum(line.startswith("missing    split-cifar100-") for line in lines) == 16
    assert not launcher.launched
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("table", "runs"), [("scr", 32), ("cssl", 12)])
def test_every_cell_of_the_comparisons_runs(table, runs, launcher, capsys):
    assert main(["reproduce", table, "--protocol", "desk", "--seeds", "1"]) == 0
    assert len(launcher.launched) == runs
    assert f"{runs} runs: {runs} done" in capsys.readouterr().out


def test_a_run_that_fails_leaves_its_cell_out_and_status_1(launcher, capsys):
    launcher.accuracy = lambda config: None if config.options.regularizer else 20.0
    assert main(["reproduce", "cil", *ONE]) == 1
    output = capsys.readouterr().out
    assert "4 runs: 2 done, 2 failed" in output
    assert "er-ace" in Path("runs/reproduce/cil-desk-er-ace-split-cifar100-500.md").read_text("utf-8")
    assert "Not finished, and not shown: 2 further runs." in output


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["cli"], "unknown table or figure 'cli'; did you mean 'cil'?"),
        (["cil", "--protocol", "table"], "unknown protocol 'table'"),
        (["cil", "--seeds", "0"], "--seeds should be at least 1; found 0"),
        (["cil", "--only", "er-acf"], "unknown word in --only for the table cil: 'er-acf'; did you mean 'er-ace'?"),
        (["cil", "--also", "frward-only"], "unknown regularizer 'frward-only'; did you mean 'forward-only'?"),
        (["cil", "--jobs", "0"], "--jobs should be in 1..1024; found 0"),
    ],
)
def test_complaints_are_one_line(arguments, complaint, capsys):
    assert main(["reproduce", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"casper: {complaint}")
    assert error.count("\n") == 1


def test_when_every_run_fails_there_is_no_table(launcher, capsys):
    launcher.accuracy = lambda _: None
    assert main(["reproduce", "cil", *ONE]) == 1
    assert "4 runs: 4 failed" in capsys.readouterr().out
    assert not list(Path("runs/reproduce").glob("*.md"))


def test_the_figure_is_the_tables_own(capsys):
    assert main(["reproduce", "scr", "--protocol", "desk", "--seeds", "1", "--only", "icarl,500,casper"]) == 0
    assert "40.57" in capsys.readouterr().out
    assert (
        main(["reproduce", "cil", "--protocol", "desk", "--seeds", "1", "--only", "icarl,split-cifar100,500,casper"])
        == 0
    )
    assert "40.87" in capsys.readouterr().out


def test_a_figure_is_drawn_from_runs_that_are_analysed(launcher, capsys):
    assert main(["reproduce", "sigma", "--protocol", "desk", "--seeds", "2", "--only", "er-ace,x-der"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("sigma: label-signal variation of the memory over tasks; desk protocol, 2 seeds\n")
    assert len(launcher.launched) == 8
    assert all(job.analyse for job in launcher.jobs)
    for name in ("sigma-desk-er-ace-x-der", "sigma-share-desk-er-ace-x-der"):
        for suffix in ("png", "pdf"):
            assert Path(f"runs/figures/{name}.{suffix}").exists()
            assert f"written to runs/figures/{name}.{suffix}" in output


@pytest.mark.parametrize(("name", "runs"), [("tsne", 2), ("fmaps", 6)])
def test_the_other_figures(launcher, name, runs):
    assert main(["reproduce", name, "--protocol", "desk", "--seeds", "1", "--out", "mine"]) == 0
    assert len(launcher.launched) == runs
    assert Path(f"mine/{name}-desk.png").exists()


def test_an_unknown_name_lists_tables_and_figures(capsys):
    assert main(["reproduce", "sigmas"]) == 2
    complaint = capsys.readouterr().err
    assert "unknown table or figure 'sigmas'; did you mean 'sigma'?" in complaint
    assert "cil" in complaint
    assert "fmaps" in complaint
