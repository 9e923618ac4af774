from pathlib import Path

import pytest

from casper.cli.app import main
from casper.paper import StepTimes
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


def test_behind_a_trunk_methods_that_refuse_it_are_named(launcher, capsys, monkeypatch):
    monkeypatch.setattr("casper.cli.make_runs.build_stream", lambda *_, **__: None)  # not here: ten minutes
    assert main(["reproduce", "scr", "--protocol", "pretrained", "--seeds", "1"]) == 0
    output = capsys.readouterr().out
    assert "left out, since they cannot be used with a trunk: scr, podnet" in output
    assert "pretrained protocol" in output
    assert "not the paper's experiments: " in output
    assert "trunk efficientnet-lite0 instead of none" in " ".join(output.split())
    assert {config.options.method for config in launcher.launched} == {"er-ace", "icarl", "der++", "x-der"}


def test_started_again_it_makes_what_is_missing(launcher, capsys):
    assert main(["reproduce", "cil", *ONE]) == 0
    launcher.launched.clear()
    assert main(["reproduce", "cil", *ONE, "--also", "forward-only"]) == 0
    assert [config.options.regularizer for config in launcher.launched] == [["forward-only"]] * 2
    assert "+ forward-only" in capsys.readouterr().out


def test_a_measure_that_is_no_accuracy(capsys):
    assert main(["reproduce", "knn", "--protocol", "desk", "--only", "er-ace", "--seeds", "1"]) == 0
    output = capsys.readouterr().out
    assert "5-NN probe, plain vote: accuracy (%) on split-cifar100, desk protocol" in output
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
    assert "Not included because unfinished: 2 runs." in output


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["cli"], "unknown table or figure 'cli'; did you mean 'cil'?"),
        (["cil", "--protocol", "table"], "unknown protocol 'table'"),
        (["cil", "--seeds", "0"], "--seeds must be at least 1, but got 0"),
        (["cil", "--only", "er-acf"], "unknown word in --only for the table cil: 'er-acf'; did you mean 'er-ace'?"),
        (["cil", "--also", "frward-only"], "unknown regularizer 'frward-only'; did you mean 'forward-only'?"),
        (["cil", "--jobs", "0"], "--jobs must be in [1, 1024], but got 0"),
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


@pytest.fixture
def asked(monkeypatch):
    """Measure nothing: every run takes as many seconds as it has passes."""
    asked = {}

    def measured(configs, *, progress, **options):
        asked.update(options, names=[config.options.method for config in configs])
        progress(1, 2, configs[0])
        passes = [2 + len(config.options.regularizer) for config in configs]
        repeats = range(options["repeats"])
        return [
            StepTimes(config, options["steps"], tuple(number + 0.1 * r for r in repeats), number, number)
            for config, number in zip(configs, passes, strict=True)
        ]

    monkeypatch.setattr("casper.paper.timing.step_times", measured)
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    return asked


def test_step_times_as_a_table_and_a_picture_in_two_forms(asked, capsys):
    options = ["--steps", "7", "--repeats", "4", "--data-dir", "images", "--only", "er-ace", "--device", "cpu"]
    assert main(["reproduce", "times", "--protocol", "desk", *options]) == 0
    shown = capsys.readouterr()
    assert asked == {"steps": 7, "repeats": 4, "device": "cpu", "data_dir": "images", "names": ["er-ace"] * 2}
    assert "ER-ACE" in shown.out
    assert shown.err == ""
    report = Path("runs/figures/times-desk-er-ace.md").read_text()
    assert "| ER-ACE + CaSpeR | " in report
    assert "7 steps of the second task, 4 repeats of all methods in turn" in report
    assert report.startswith("# Training steps on split-cifar100, buffer 500, batches of 64\n")
    for suffix in ("png", "pdf"):
        assert Path(f"runs/figures/times-desk-er-ace.{suffix}").exists()


def test_step_times_of_all_five_methods_once_whatever_the_seeds(asked):
    assert main(["reproduce", "times", "--protocol", "desk", "--seeds", "4"]) == 0
    methods = ("er-ace", "icarl", "der++", "x-der", "podnet")
    assert asked["names"] == [method for method in methods for _ in range(2)]
    assert (asked["steps"], asked["repeats"]) == (30, 3)


def test_a_busy_machine_is_said(asked, monkeypatch, capsys):
    monkeypatch.setattr("os.getloadavg", lambda: (1.72, 0.0, 0.0))
    assert main(["reproduce", "times", "--protocol", "desk"]) == 0
    assert "this machine is busy (load 1.7): times and ratios will be inaccurate" in capsys.readouterr().err
    assert "load before the measurement: 1.7" in Path("runs/figures/times-desk.md").read_text()


def test_a_dry_run_of_step_times_measures_nothing(asked, tmp_path, capsys):
    assert main(["reproduce", "times", "--dry-run"]) == 0
    assert sum(line.startswith("split-cifar100-") for line in capsys.readouterr().out.splitlines()) == 10
    assert not asked
    assert list(tmp_path.iterdir()) == []


def test_too_few_repeats_are_refused(asked, capsys):
    assert main(["reproduce", "times", "--repeats", "2", "--dry-run"]) == 2
    assert capsys.readouterr().err == "casper: --repeats must be at least 3, but got 2\n"
