"""A directory from somebody else: no link in it changes a file outside it, and no pipe makes a command wait."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from casper.cli.app import main
from casper.config import flattened, resolve_config
from casper.data import cache_directory
from image_files import picture

QUICK = ["--epochs", "1", "--set", "backbone.width=4", "--tasks", "2", "--regularizer", "none"]
FILES = ["config.yaml", "environment.json", "log.jsonl", "checkpoint.pt", "checkpoint.previous.pt", ".lock", ".owner"]
LATER = ["failure.json", "checkpoint.damaged.pt", "checkpoint.task-01.pt", "analysis.json", "embedding.npz"]
TEMPORARY = ["environment.json.tmp", "checkpoint.pt.0123456789abcdef.tmp", ".owner.0123456789abcdef.tmp"]
PRECIOUS = b'{"precious": true}\n'


@pytest.fixture(autouse=True)
def no_waiting():
    """A command that waits for a pipe fails."""

    def fail(*_):
        raise AssertionError("waits for a pipe")

    signal.signal(signal.SIGALRM, fail)
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run with the checkpoints of its task ends."""
    path = tmp_path_factory.mktemp("finished") / "run"
    assert main(["run", *QUICK, "--out", str(path), "--checkpoint-every", "9steps", "--keep-checkpoints"]) == 0
    return path


@pytest.fixture
def run(finished, tmp_path, monkeypatch):
    """A copy of it that was stopped before its end."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, tmp_path / "run")
    Path("run/metrics.json").unlink()
    return Path("run")


@pytest.fixture
def victim(tmp_path):
    """A file of the user that nothing may change."""
    path = tmp_path / "victim"
    path.write_bytes(PRECIOUS)
    yield path
    assert path.read_bytes() == PRECIOUS
    assert not path.is_symlink()


def replace_by_link(file, target):
    file.unlink(missing_ok=True)
    file.symlink_to(target)


def refused(command, name, capfd, reason="symbolic link"):
    """The command ends with status 2 and one line that names the file."""
    capfd.readouterr()
    assert main(command) == 2
    complaint = capfd.readouterr().err
    assert complaint.count("\n") == 1, complaint
    assert name in complaint, complaint
    assert reason in complaint, complaint


@pytest.mark.parametrize("name", [*FILES, *LATER, *TEMPORARY])
def test_a_linked_file_of_a_run_is_named_and_nothing_is_written(run, victim, capfd, name):
    replace_by_link(run / name, victim)
    before = sorted(os.listdir(run))
    refused(["run", "--resume", "run"], f"run/{name}", capfd)
    refused(["run", *QUICK, "--out", "run"], f"run/{name}", capfd)
    refused(["doctor", "run"], f"run/{name}", capfd)
    assert sorted(os.listdir(run)) == before


@pytest.mark.parametrize("name", [*FILES, *LATER, "metrics.json"])
def test_a_linked_file_is_not_overwritten(finished, tmp_path, victim, capfd, name):
    shutil.copytree(finished, tmp_path / "other")
    replace_by_link(tmp_path / "other" / name, victim)
    before = sorted(os.listdir(tmp_path / "other"))
    refused(["run", *QUICK, "--out", str(tmp_path / "other"), "--overwrite"], name, capfd)
    assert sorted(os.listdir(tmp_path / "other")) == before


@pytest.mark.parametrize("name", ["analysis.json", "embedding.npz"])
def test_the_files_of_an_analysis(finished, tmp_path, victim, capfd, name):
    shutil.copytree(finished, tmp_path / "other")
    replace_by_link(tmp_path / "other" / name, tmp_path / "nowhere")
    refused(["analyse", str(tmp_path / "other"), "--rank", "5"], name, capfd)
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "features.npz").symlink_to(victim)
    (tmp_path / "other" / name).unlink()
    command = ["analyse", str(tmp_path / "other"), "--features", str(tmp_path / "features.npz")]
    refused(command, "features.npz", capfd)


@pytest.mark.parametrize("suffix", ["md", "html", "tex", "csv", "png", "svg"])
def test_reports_and_figures(finished, tmp_path, victim, capfd, suffix):
    out = tmp_path / f"out.{suffix}"
    out.symlink_to(victim)
    command = ["figure", "accuracy"] if suffix in ("png", "svg") else ["report"]
    refused([*command, str(finished), "--out", str(out)], out.name, capfd)


def test_a_run_of_a_sweep(tmp_path, victim, capfd):
    file, out = tmp_path / "sweep.yaml", tmp_path / "out"
    file.write_text(json.dumps({"epochs": 1, "tasks": 2, "backbone": {"width": 4}, "regularizer": "none"}))
    command = ["sweep", str(file), "--out", str(out), "--jobs", "1", "--no-estimate"]
    assert main(command) == 0
    (made,) = out.iterdir()
    (made / "metrics.json").unlink()
    replace_by_link(made / "log.jsonl", victim)
    replace_by_link(made / "failure.json", victim)
    capfd.readouterr()
    assert main(command) == 1
    assert "failure.json must be a file, but it is a symbolic link" in "".join(capfd.readouterr())


def test_the_directory_of_a_run_of_a_sweep(tmp_path, capfd):
    file, out, elsewhere = tmp_path / "sweep.yaml", tmp_path / "out", tmp_path / "elsewhere"
    values = {"epochs": 1, "tasks": 2, "backbone": {"width": 4}, "regularizer": "none"}
    file.write_text(json.dumps(values))
    elsewhere.mkdir()
    (elsewhere / "failure.json").write_text("{}")
    out.mkdir()
    made = out / resolve_config(flattened(values)).name
    made.symlink_to(elsewhere)
    refused(["sweep", str(file), "--out", str(out), "--jobs", "1"], made.name, capfd)
    assert [each.name for each in elsewhere.iterdir()] == ["failure.json"]


def test_the_cache(tmp_path, victim, monkeypatch):
    monkeypatch.setenv("CASPER_CACHE", str(tmp_path / "cache"))
    images = numpy.stack([numpy.asarray(picture(number)) for number in range(12)])
    labels = numpy.arange(12) % 2
    numpy.savez(tmp_path / "own.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    command = ["run", *QUICK, "--batch-size", "4", "--stream", f"npz:{tmp_path / 'own.npz'}", "--out"]
    assert main([*command, str(tmp_path / "a")]) == 0
    (entry,) = cache_directory().iterdir()
    whole = {file.name: file.read_bytes() for file in entry.iterdir()}
    for number, name in enumerate(whole):
        replace_by_link(entry / name, victim)  # damaged: it is made again
        assert main([*command, str(tmp_path / f"b{number}")]) == 0
        (entry / name).unlink()
        os.mkfifo(entry / name)
        assert main([*command, str(tmp_path / f"c{number}")]) == 0
    (tmp_path / "elsewhere").mkdir()
    shutil.rmtree(entry)
    entry.symlink_to(tmp_path / "elsewhere")
    assert main([*command, str(tmp_path / "d")]) == 0
    assert not entry.is_symlink()
    assert {file.name: file.read_bytes() for file in entry.iterdir()} == whole
    assert not list((tmp_path / "elsewhere").iterdir())


def replace_by_pipe(file):
    file.unlink(missing_ok=True)
    os.mkfifo(file)


@pytest.mark.parametrize("name", [*FILES, *LATER, *TEMPORARY])
def test_a_pipe_in_a_run_is_named(run, capfd, name):
    replace_by_pipe(run / name)
    for command in (["run", "--resume", "run"], ["run", *QUICK, "--out", "run"], ["doctor", "run"]):
        refused(command, f"run/{name}", capfd, "it is a pipe or a device")


@pytest.mark.parametrize("name", [*FILES, *LATER, "metrics.json"])
def test_a_pipe_in_a_finished_run_keeps_no_command_waiting(finished, tmp_path, capfd, name):
    other = tmp_path / "runs" / "other"
    shutil.copytree(finished, other)
    replace_by_pipe(other / name)
    commands = [
        ["doctor", str(other)],
        ["run", "--resume", str(other)],
        ["run", "--config", str(other / "config.yaml"), "--out", str(other)],
        ["report", str(tmp_path / "runs")],
        ["figure", "accuracy", str(other), "--out", str(tmp_path / "a.png")],
        ["analyse", str(other), "--rank", "5"],
    ]
    for command in commands:
        capfd.readouterr()
        assert main(command) in (0, 1, 2)
        told = capfd.readouterr().err
        assert told.count("\n") <= 1 + told.count("warning: "), told


@pytest.mark.parametrize("kind", ["npz", "folder", "config", "preset", "sweep", "report"])
def test_a_pipe_given_by_name(tmp_path, capfd, kind):
    for name in ("cat", "dog"):
        (tmp_path / "folder" / name).mkdir(parents=True)
        picture(1).save(tmp_path / "folder" / name / "1.png")
    pipe = tmp_path / "folder/cat/2.png" if kind == "folder" else tmp_path / f"{kind}.{kind}"
    os.mkfifo(pipe)
    commands = {
        "npz": ["run", "--tasks", "2", "--stream", f"npz:{pipe}"],
        "folder": ["run", "--tasks", "2", "--stream", f"folder:{tmp_path / 'folder'}"],
        "sweep": ["sweep", str(pipe)],
        "report": ["report", str(pipe)],
    }
    refused(commands.get(kind, ["run", f"--{kind}", str(pipe)]), str(pipe), capfd, "")


def test_a_configuration_may_come_from_a_command(tmp_path):
    script = f"exec {sys.executable} -m casper run --config <(echo 'epochs: 1') --tasks 2 --out {tmp_path / 'run'}"
    assert subprocess.run(["bash", "-c", script], capture_output=True, check=False).returncode == 0


@pytest.mark.soak
def test_links_and_pipes_in_place_of_every_file_for_every_command(finished, tmp_path, capfd, no_waiting):
    """Each file replaced by a link or a pipe, in a finished and an unfinished run: no command writes or waits."""
    signal.alarm(0)
    victim, cases = tmp_path / "victim", 0
    for name in [*FILES, *LATER, *TEMPORARY, "metrics.json"]:
        for replace in (lambda file: replace_by_link(file, victim), replace_by_pipe):
            for unfinished in (True, False):
                other = tmp_path / "runs" / "other"
                commands = [
                    ["doctor", str(other)],
                    ["run", "--resume", str(other)],
                    ["run", *QUICK, "--out", str(other)],
                    ["run", *QUICK, "--out", str(other), "--overwrite"],
                    ["report", str(tmp_path / "runs"), "--out", str(tmp_path / "report.html")],
                    ["analyse", str(other), "--rank", "5"],
                ]
                for command in commands:
                    victim.write_bytes(PRECIOUS)
                    shutil.rmtree(tmp_path / "runs", ignore_errors=True)
                    shutil.copytree(finished, other)
                    if unfinished:
                        (other / "metrics.json").unlink()
                    replace(other / name)
                    capfd.readouterr()
                    signal.alarm(120)
                    status = main(command)
                    signal.alarm(0)
                    told = capfd.readouterr().err
                    assert status in (0, 1, 2), (name, command)
                    assert told.count("\n") <= 1 + told.count("warning: "), (name, command, told)
                    assert victim.read_bytes() == PRECIOUS, (name, command)
                    cases += 1
    with capfd.disabled():
        print(f"links and pipes: {cases} commands, no file outside the run changed, none waited")
