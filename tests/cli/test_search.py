from pathlib import Path

import pytest
import yaml

from casper.cli.app import main
from casper.runs import RunDirectory
from finished import InstantLauncher

OVER = ["--over", "lr=[0.1,0.2,0.3]", "--over", "casper.weight=[0.01,0.1]", "--set", "epochs=1"]


@pytest.fixture(autouse=True)
def launcher(tmp_path, monkeypatch):
    """Runs whose accuracy is best at lr 0.2 and weight 0.1."""
    monkeypatch.chdir(tmp_path)

    def accuracy(config):
        return 50.0 - abs(config.options.lr - 0.2) * 100 + config.hyper["casper"]["weight"] + config.options.seed / 100

    launcher = InstantLauncher(accuracy)
    monkeypatch.setattr("casper.cli.make_runs.LocalLauncher", lambda *_, **__: launcher)
    return launcher


def test_the_best_is_printed_and_a_preset_that_run_takes(launcher, capsys):
    assert main(["search", *OVER, "--seeds", "2"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("6 combinations of lr, casper.weight; 2 seeds each\n12 runs: 12 missing; in runs/search")
    assert "Best of 6 on the validation split" in output
    rows = [line.split() for line in output.splitlines() if "±" in line]
    assert [row[:2] for row in rows[:2]] == [["0.2", "0.1"], ["0.2", "0.01"]]
    assert "written to runs/search/best.yaml; use it with: casper run --preset runs/search/best.yaml" in output
    text = Path("runs/search/best.yaml").read_text()
    assert "on 10% of the training images, held out; 2 seeds" in text
    assert yaml.safe_load(text) == {"epochs": 1, "lr": 0.2, "casper": {"weight": 0.1}}
    assert {config.options.validation for config in launcher.launched} == {0.1}
    assert {config.options.seed for config in launcher.launched} == {100, 101}

    assert main(["run", "--preset", "runs/search/best.yaml", "--out", "run"]) == 0
    config = RunDirectory(Path("run")).read_layout()
    assert (config["lr"], config["casper"]["weight"], config["epochs"]) == (0.2, 0.1, 1)
    assert config["validation"] is None
    assert config["origin"]["lr"] == "preset best.yaml"


def test_started_again_it_makes_what_is_missing(launcher, capsys):
    assert main(["search", *OVER, "--random", "2", "--best", "mine.yaml"]) == 0
    assert len(launcher.launched) == 2
    assert Path("mine.yaml").exists()
    assert main(["search", *OVER, "--random", "4"]) == 0
    assert len(launcher.launched) == 4
    assert "4 runs: 2 done, 2 missing" in capsys.readouterr().out


def test_a_link_in_place_of_the_result_is_refused_before_any_run(launcher, capsys):
    Path("runs/search").mkdir(parents=True)
    Path("runs/search/best.yaml").symlink_to("elsewhere")
    assert main(["search", *OVER]) == 2
    assert "runs/search/best.yaml must be a file, but it is a symbolic link; remove it" in capsys.readouterr().err
    assert launcher.launched == []


def test_combinations_that_fail_do_not_count(launcher, capsys):
    usual = launcher.accuracy
    launcher.accuracy = lambda config: None if config.options.lr == 0.2 else usual(config)
    assert main(["search", *OVER]) == 1
    assert yaml.safe_load(Path("runs/search/best.yaml").read_text())["lr"] in (0.1, 0.3)
    assert "2 failed" in capsys.readouterr().out
    launcher.accuracy = lambda _: None
    assert main(["search", "--over", "lr=[0.7]"]) == 1
    assert "no combination was run to its end" in capsys.readouterr().err


def test_a_preset_that_all_runs_follow_is_part_of_the_best(launcher):
    Path("first.yaml").write_text("casper: {num_classes: 3}\nbuffer_size: 77\n")
    assert main(["search", *OVER, "--preset", "first.yaml"]) == 0
    assert {config.options.buffer_size for config in launcher.launched} == {77}
    best = yaml.safe_load(Path("runs/search/best.yaml").read_text())
    assert best == {"casper": {"num_classes": 3, "weight": 0.1}, "buffer_size": 77, "epochs": 1, "lr": 0.2}


def test_dry_run_writes_nothing(tmp_path, launcher, capsys):
    assert main(["search", *OVER, "--dry-run"]) == 0
    assert "6 runs: 6 missing" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    assert not launcher.launched


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--over", "lr"], "--over must be given as key=value, but got 'lr'"),
        (["--over", "lr=0.1"], "--over lr must be a list of values, but got 0.1"),
        (["--over", "lrr=[0.1]"], "unknown key 'lrr'; did you mean 'lr'?"),
        (["--seeds", "0"], "--seeds must be at least 1, but got 0"),
        (["--random", "0"], "--random must be at least 1, but got 0"),
        (["--validation", "1.5"], "--validation must be"),
        (["--preset", "none.yaml"], "none.yaml cannot be read"),
        (["--set", "seed=3"], "seed cannot be set in a search; use --seeds"),
        (["--stream", "split-digits", "--set", "stream=a"], "stream must be given once"),
        (["--set", "lr=1", "--over", "lr=[1]"], "lr must be given once, but is given as a setting and with --over"),
    ],
)
def test_complaints_are_one_line(arguments, complaint, capsys):
    assert main(["search", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"casper: {complaint}")
    assert error.count("\n") == 1


def test_which_combinations_are_drawn_can_be_chosen(launcher):
    for draw in ("0", "1"):
        assert main(["search", *OVER, "--random", "1", "--draw", draw, "--out", draw]) == 0
    first, second = launcher.launched
    assert first != second


TERM = """
from casper import Regularizer

print("imported now")

class Term(Regularizer):
    name = generator_name = "term"

    def __init__(self, weight: float = 0.1) -> None:
        self.weight = weight

    def loss(self, step, passes, generator):
        return None
"""


@pytest.mark.parametrize(
    "options",
    [
        ["--regularizer", "searched_a:Term", "--over", "lr=[0.1,0.2]"],
        ["--over", "regularizer=[casper,[casper,'searched_b:Term']]"],
        ["--preset", "searched_c.yaml"],
    ],
)
def test_a_dry_run_first_names_the_modules_that_it_imports(options, capsys):
    (name,) = [f"searched_{letter}" for letter in "abc" if f"searched_{letter}" in " ".join(options)]
    Path(f"{name}.py").write_text(TERM)
    Path("searched_c.yaml").write_text("regularizer: searched_c:Term")
    assert main(["search", *options, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"importing {name}", "imported now"]
