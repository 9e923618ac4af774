from pathlib import Path

import pytest
import torch

from casper.cli.app import main
from casper.cli.doctor import _free
from casper.data import cache_directory
from casper.runs.code_version import code_version
from casper.streams import split_mnist

QUICK = ["--epochs", "1", "--set", "backbone.width=4", "--tasks", "2"]


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def test_the_machine(capsys, data_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("CASPER_CACHE", str(tmp_path / "cache"))
    split_mnist(data_dir=str(data_dir))
    assert main(["doctor", "--data-dir", str(data_dir)]) == 0
    output = capsys.readouterr().out
    found = {line.split()[0]: " ".join(line.split()[1:]) for line in output.splitlines()}
    assert found["code"] == code_version().split()[-1]
    assert found["torch"] == torch.__version__
    assert found["threads"].startswith(f"{torch.get_num_threads()} of ")
    assert found["free"].startswith("disk here ")
    assert found["cache"].startswith(f"{tmp_path}/cache: 1 data sets")
    assert "damaged" not in found["cache"]
    assert found["mnist"] == str(data_dir / "mnist")
    (entry,) = cache_directory().iterdir()
    (entry / "facts.json").write_text("{")
    assert main(["doctor"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert f"rebuilt when needed: {entry.name}" in output
    assert "mnist not found locally; downloaded from the hub (ylecun/mnist) when needed" in output


def test_without_a_cache(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("CASPER_CACHE", str(tmp_path / "none" / "yet"))
    assert main(["doctor"]) == 0
    assert "0 data sets" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


def test_little_space_is_said(monkeypatch):
    monkeypatch.setattr("casper.cli.doctor.shutil.disk_usage", lambda _: type("Usage", (), {"free": 1.5e9}))
    assert _free(Path()) == "1.5 GB - low"


def test_a_run(capsys):
    assert main(["run", *QUICK, "--out", "A"]) == 0
    capsys.readouterr()
    assert main(["doctor", "A"]) == 0
    output = capsys.readouterr().out
    assert "after task 2" in output
    assert output.splitlines()[-1].split() == ["verdict", "finished"]
    Path("A/metrics.json").unlink()
    Path("A/checkpoint.pt").write_bytes(b"\x1b[31mred")
    assert main(["doctor", "A"]) == 1
    assert "every checkpoint is damaged" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["runs", "nowhere"])
def test_what_is_no_run_is_named(tmp_path, name, capsys):
    (tmp_path / "runs" / "one").mkdir(parents=True)
    assert main(["doctor", str(tmp_path / name)]) == 2
    expected = f"casper: RUN must be the directory of a run, but {tmp_path / name} has no config.yaml\n"
    assert capsys.readouterr().err == expected
