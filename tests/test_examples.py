"""The examples run as a reader would run them, and stay short."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
QUICK = {
    "loss_in_your_loop.py": ["--epochs", "3"],
    "own_dataset.py": ["--per-class", "40", "--epochs", "1"],
    "own_method.py": ["--epochs", "1"],
}


def run_python(*arguments, cwd, status=0):
    """Run Python in a process without the tests' paths; return what it prints."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def run_example(name, *arguments, cwd, status=0):
    return run_python(EXAMPLES / name, *arguments, cwd=cwd, status=status)


def percentages(text):
    return [float(value) for value in re.findall(r"(\d+\.\d+) %", text)]


def test_every_example_is_tested_and_has_at_most_60_lines():
    found = {path.name: len(path.read_text("utf-8").splitlines()) for path in EXAMPLES.glob("*.py")}
    assert set(found) == {*QUICK, "runs_to_pandas.py"}
    assert max(found.values()) <= 60, found


def test_the_loss_in_a_loop_learns_and_reaches_the_gradient(tmp_path):
    with_loss = percentages(run_example("loss_in_your_loop.py", *QUICK["loss_in_your_loop.py"], cwd=tmp_path))
    assert len(with_loss) == 5
    assert with_loss[0] > 90
    # A heavy weight changes what is learned, and nothing before the first replay.
    heavy = percentages(run_example("loss_in_your_loop.py", "--epochs", "3", "--weight", "5", cwd=tmp_path))
    assert heavy[0] == with_loss[0]
    assert heavy[1:] != with_loss[1:]


def test_the_own_dataset_becomes_three_tasks(tmp_path):
    lines = run_example("own_dataset.py", *QUICK["own_dataset.py"], cwd=tmp_path).splitlines()
    assert lines[0].endswith("thin upright, medium upright, wide upright, thin lying, medium lying, wide lying")
    assert [line.partition(",")[0] for line in lines[1:]] == [f"after task {number}" for number in (1, 2, 3)]


def test_the_own_method_learns(tmp_path):
    (accuracy,) = percentages(run_example("own_method.py", *QUICK["own_method.py"], cwd=tmp_path))
    assert accuracy > 15  # chance is 10


def test_the_own_method_runs_from_the_command_line(tmp_path):
    parts = ["--method", "own_method:WeightedReplay", "--regularizer", "own_method:SmallFeatures"]
    run_python("-m", "casper", "run", *parts, "--epochs", "1", "--out", tmp_path / "run", cwd=EXAMPLES)
    assert '"small-features"' in (tmp_path / "run" / "log.jsonl").read_text("utf-8")


@pytest.fixture
def published():
    return sorted((ROOT / "results" / "latent" / "runs").glob("split-cifar100-er-ace-*"))


def test_runs_become_a_table_with_differences_paired_by_seed(tmp_path, published):
    pandas = pytest.importorskip("pandas")
    text = run_example("runs_to_pandas.py", *published, "--csv", tmp_path / "runs.csv", cwd=tmp_path)
    table = pandas.read_csv(tmp_path / "runs.csv")
    assert len(table) == len(published)
    accuracy = table[table["buffer_size"] == 2000].groupby(["regularizer", "seed"])["accuracy"].mean().unstack()
    difference = (accuracy.loc["casper"] - accuracy.loc["none"]).mean()
    assert re.search(rf"2000 +{difference:.2f} ", text)


def test_runs_of_other_settings_are_not_averaged_silently(tmp_path, published):
    (tmp_path / "again").symlink_to(published[0])
    assert "duplicate" in run_example("runs_to_pandas.py", *published, tmp_path / "again", cwd=tmp_path, status=1)


def test_no_finished_run_is_an_error(tmp_path):
    assert "finished run" in run_example("runs_to_pandas.py", tmp_path, cwd=tmp_path, status=2)
