import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.main import get_command

from casper.cli import app
from casper.cli.app import main
from casper.config import ConfigError
from casper.errors import DataError
from finished import write_run


def test_help_teaches(capsys):
    assert main(["--help"]) == 0
    output = capsys.readouterr().out
    assert all(command in output for command in ("run", "list", "demo"))
    assert main(["run", "--help"]) == 0
    output = capsys.readouterr().out
    for option in ("--stream", "--method", "--regularizer", "--set", "--config", "--out", "--recalibrate", "--device"):
        assert option in output


def test_help_has_the_order_of_a_first_visit(capsys):
    assert main(["--help"]) == 0
    output = capsys.readouterr().out.partition("Options")[0]
    places = [output.index(f"casper {command}") for command in ("demo", "run", "report")]
    assert places == sorted(places)


COMMANDS = ("run", "sweep", "search", "reproduce", "report", "figure", "analyse", "demo", "doctor", "list")


def test_every_command_is_in_the_tests_of_the_help():
    assert {command.name for command in app.app.registered_commands} == {*COMMANDS}


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_whole_in_80_columns(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*filter(None, [command]), "--help"]) == 0
    output = capsys.readouterr().out
    assert "…" not in output
    assert max(map(len, output.splitlines())) <= 80
    group = get_command(app.app)
    options = group.params if command == "" else group.commands[command].params
    names = [name for option in options for name in (*option.opts, *option.secondary_opts) if name.startswith("--")]
    assert names
    for name in names:
        assert re.search(rf"{re.escape(name)}(?![\w-])", output), name
    metavars = [option.metavar for option in options if option.metavar]
    assert not [metavar for metavar in metavars if "..." in metavar]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_begins_with_a_sentence_and_an_example(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([command, "--help"]) == 0
    paragraphs = capsys.readouterr().out.partition("╭")[0].split("\n")
    text = [line.strip() for line in paragraphs if line.strip()]
    examples = [place for place, line in enumerate(text) if line.startswith("• casper ")]
    sentence = " ".join(text[1 : examples[0]])
    assert sentence.endswith(".")
    assert sentence.count(". ") == 0
    assert len(examples) >= 2


def test_no_command_shows_the_help(capsys):
    assert main([]) == 0
    assert "Usage" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("casper-il ")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["report", "--help"], []])
def test_help_and_version_import_no_pytorch(arguments):
    code = "import sys; from casper.cli.app import main; main(sys.argv[1:]); print('torch' in sys.modules)"
    finished = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines()[-1] == "False"


def test_an_unknown_command_is_one_line(capsys):
    assert main(["rum"]) == 2
    error = capsys.readouterr().err
    assert "rum" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--seed", "abc"], "--seed must be a valid integer, but got 'abc'"),
        (["run", "--seed=abc"], "--seed must be a valid integer, but got 'abc'"),
        (["run", "--seed", "1", "--seed", "2"], "--seed must be given once, but got it 2 times"),
        (["run", "--method=er", "--method", "icarl"], "--method must be given once, but got it 2 times"),
        (["run", "--lr", "fast"], "--lr must be a valid number, but got 'fast'"),
        (["demo", "--seeds", "0.5"], "--seeds must be a valid integer, but got '0.5'"),
    ],
)
def test_a_value_of_the_wrong_type_or_given_twice_is_named(arguments, message, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"casper: {message}\n"


def test_an_interruption_is_one_line(monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "app", interrupt)
    assert main(["run"]) == 130
    assert capsys.readouterr().err == "casper: interrupted\n"


def test_an_interruption_while_the_command_is_imported_is_one_line():
    code = """
import sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == "casper.cli.app":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from casper.__main__ import main
sys.exit(main())
"""
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stderr) == (130, "casper: interrupted\n")


def test_a_file_that_cannot_be_used_is_one_line(monkeypatch, capsys):
    def fail(*_, **__):
        raise OSError(5, "bad", "some file")

    monkeypatch.setattr(app, "app", fail)
    assert main(["run"]) == 1
    assert capsys.readouterr().err == "casper: some file cannot be used: bad\n"


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")])
def test_a_failed_allocation_is_one_line(error, monkeypatch, capsys):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(app, "app", fail)
    assert main(["report"]) == 1
    assert capsys.readouterr().err == "casper: out of memory\n"


@pytest.mark.parametrize("kind", [ConfigError, DataError])
def test_an_error_of_several_lines_is_printed_as_one(kind, monkeypatch, capsys):
    def fail(*_, **__):
        raise kind("some set not found:  the hub is offline.\nPut it into a directory.")

    monkeypatch.setattr(app, "app", fail)
    assert main(["run"]) == 2
    captured = capsys.readouterr()
    assert captured.err == "casper: some set not found: the hub is offline. Put it into a directory.\n"
    assert captured.out == ""


def start(*arguments):
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from casper.cli.app import main; print('ready', flush=True); sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_a_run_leaves_a_checkpoint_and_the_command_that_goes_on(tmp_path, number, status):
    run = tmp_path / "my  run"
    process = start("run", "--epochs", "1000", "--out", str(run))
    assert process.stdout.readline() == "ready\n"
    assert process.stdout.readline().startswith("er-ace + casper")
    log = run / "log.jsonl"
    while not (log.exists() and "task started" in log.read_text("utf-8")):
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == status
    first, second = error.strip().splitlines()
    assert first == "casper: finishing the step and writing a checkpoint; press Ctrl-C again to stop at once"
    assert second.startswith("casper: stopped: task 1, ")
    assert second.endswith(f"; resume with: casper run --resume '{run}'")
    assert (run / "checkpoint.pt").exists()
    assert not (run / "metrics.json").exists()


def test_output_that_nobody_reads_is_no_traceback(tmp_path):
    process = start("run", "--epochs", "1", "--set", "backbone.width=4", "--out", str(tmp_path / "run"))
    assert process.stdout.readline() == "ready\n"
    process.stdout.close()
    assert process.wait(timeout=60) == 1
    assert process.stderr.read() == ""


@pytest.mark.parametrize(
    "arguments",
    [["run", "--epochs", "0"], ["run", "--method", "nothing"], ["run", "--stream", "folder:nowhere"]],
)
def test_the_process_ends_with_status_two_and_one_line(arguments):
    finished = subprocess.run([sys.executable, "-m", "casper", *arguments], capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("casper: ")
    assert finished.stderr.count("\n") == 1


HUGE = "0x" + "f" * 6000  # more than the 4,300 digits that Python prints


@pytest.mark.parametrize(
    "command",
    [
        ["run", "--set", f"casper.weight={HUGE}"],
        ["run", "--set", f"casper.num_classes={HUGE}"],
        ["run", "--set", f"milestones=[{HUGE}]"],
        ["run", "--config", "huge.yaml"],
        ["sweep", "huge.yaml"],
        ["sweep", "null.yaml"],
        ["run", "--method", "leaving:Method"],
        ["list", "methods", "leaving:Method"],
        ["run", "--method", "failing:Method"],
        ["figure", "accuracy", "run", "--out", "folder.svg"],
        ["figure", "accuracy", "run", "--out", "huge.yaml/a.svg"],
        ["run", "--resume", "x" * 300],
        ["doctor", "x" * 300],
        ["analyse", "x" * 300],
    ],
    ids=lambda command: " ".join(command)[:40],
)
def test_a_mistake_is_one_line_with_status_2(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("huge.yaml").write_text(f"seed: {HUGE}\n")
    Path("null.yaml").write_text('preset: "a\\0b"\n')
    Path("leaving.py").write_text("import sys\nsys.exit(3)\n")
    Path("failing.py").write_text("def __getattr__(name):\n    raise RuntimeError('failing')\n")
    Path("folder.svg").mkdir()
    write_run(tmp_path, {}, 60.0).rename("run")
    assert main(command) == 2
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1, complaint
    assert len(complaint) < 1000


@pytest.mark.parametrize("value", [10**400, 1e308, float("inf"), "x"], ids=["integer", "float", "inf", "text"])
def test_impossible_accuracies_leave_a_run_out_of_a_report(value, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "runs", {"seed": 0}, 60.0)
    bad = write_run(tmp_path / "runs", {"seed": 1}, 60.0) / "metrics.json"
    metrics = json.loads(bad.read_text())
    metrics["class_il"]["accuracy_matrix"][0][0] = value
    bad.write_text(json.dumps(metrics))
    assert main(["report", "runs", "--out", "report.html", "--out", "report.md", "--title", "\udcff"]) == 0
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert "left out" in complaint
    assert main(["report", "runs", "--out", "report.tex", "--title", "\udcff"]) == 0
    metrics["class_il"]["accuracy_matrix"][0][0] = 70.0
    metrics["class_il"]["final_average_accuracy"] = value
    bad.write_text(json.dumps(metrics))
    assert main(["report", "runs"]) == 0
