from pathlib import Path

import pytest

from casper.cli import step_times as module
from casper.cli.app import main
from casper.paper import StepTimes

asked = {}


@pytest.fixture(autouse=True)
def measuring(tmp_path, monkeypatch):
    """Measure nothing: every run takes as many seconds as it has passes."""
    monkeypatch.chdir(tmp_path)
    asked.clear()

    def measured(configs, *, progress, **options):
        asked.update(options, names=[config.options.method for config in configs])
        progress(1, 2, configs[0])
        passes = [2 + len(config.options.regularizer) for config in configs]
        repeats = range(options["repeats"])
        return [
            StepTimes(config, options["steps"], tuple(number + 0.1 * r for r in repeats), number, number)
            for config, number in zip(configs, passes, strict=True)
        ]

    monkeypatch.setattr(module, "step_times", measured)
    monkeypatch.setattr(module.os, "getloadavg", lambda: (0.0, 0.0, 0.0))


def test_a_table_and_a_picture_in_two_forms(capsys):
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


def test_all_five_methods_once_whatever_the_seeds():
    assert main(["reproduce", "times", "--protocol", "desk", "--seeds", "4"]) == 0
    methods = ("er-ace", "icarl", "der++", "x-der", "podnet")
    assert asked["names"] == [method for method in methods for _ in range(2)]
    assert (asked["steps"], asked["repeats"]) == (30, 3)


def test_a_busy_machine_is_said(monkeypatch, capsys):
    monkeypatch.setattr(module.os, "getloadavg", lambda: (1.72, 0.0, 0.0))
    assert main(["reproduce", "times", "--protocol", "desk"]) == 0
    assert "this machine is busy (load 1.7): times and ratios will be rough" in capsys.readouterr().err
    assert "load of the machine before: 1.7" in Path("runs/figures/times-desk.md").read_text()


def test_a_dry_run_lists_and_measures_nothing(tmp_path, capsys):
    assert main(["reproduce", "times", "--dry-run"]) == 0
    assert sum(line.startswith("split-cifar100-") for line in capsys.readouterr().out.splitlines()) == 10
    assert not asked
    assert list(tmp_path.iterdir()) == []


def test_too_few_repeats_are_refused(capsys):
    assert main(["reproduce", "times", "--repeats", "2", "--dry-run"]) == 2
    assert capsys.readouterr().err == "casper: --repeats should be at least 3; found 2\n"
