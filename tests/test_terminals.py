"""What a user sees on any terminal and in any account: every command prints, whatever the encoding of its output."""

import os
import subprocess
import sys

import pytest

from casper.cli.app import main

QUICK = ["--epochs", "1", "--set", "backbone.width=4", "--tasks", "2", "--regularizer", "none"]
# An account without an entry in the list of users, such as that of many containers.
_NOBODY = """
import pwd, sys

def missing(*_):
    raise KeyError("no such user")

pwd.getpwuid = pwd.getpwnam = missing
from casper.cli.app import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with two finished runs, one of them analysed."""
    path = tmp_path_factory.mktemp("runs")
    assert main(["run", *QUICK, "--out", str(path / "first"), "--analyse"]) == 0
    assert main(["run", *QUICK, "--seed", "1", "--out", str(path / "second")]) == 0
    return path


def casper(arguments, script=None, **environment):
    """Run a command in a process of its own; an environment variable that is None is not set."""
    start = ["-m", "casper"] if script is None else ["-c", script]
    settings = {name: value for name, value in {**os.environ, **environment}.items() if value is not None}
    ended = subprocess.run([sys.executable, *start, *arguments], capture_output=True, env=settings, check=False)
    return ended.returncode, ended.stdout, ended.stderr.decode(environment.get("PYTHONIOENCODING") or "utf-8")


def commands(runs, tmp_path):
    return {
        "result": ["run", "--resume", str(runs / "first")],
        "analysis": ["analyse", str(runs / "first")],
        "report": ["report", str(runs)],
        "doctor": ["doctor", str(runs / "first")],
        "help": ["run", "--help"],
        "run": ["run", *QUICK, "--out", str(tmp_path / "run")],
        "list": ["list", "regularizers"],
        "written": ["report", str(runs), "--out", str(tmp_path / "report.md")],
    }


@pytest.mark.parametrize("name", ["result", "analysis", "report", "help"])
def test_ascii_output_is_an_output_like_any_other(runs, tmp_path, name):
    status, output, told = casper(commands(runs, tmp_path)[name], PYTHONIOENCODING="ascii")
    assert status == 0, told
    assert output.isascii()
    assert "not the" not in told  # no good file is blamed
    assert "Error" not in told


def test_signs_are_written_in_letters(runs, tmp_path):
    output = casper(commands(runs, tmp_path)["report"], PYTHONIOENCODING="ascii")[1]
    assert b"+-" in output
    explained = casper(["list", "regularizers", "casper"], PYTHONIOENCODING="ascii")[1]
    assert b"sum_{j=1..p} lambda_j" in explained
    assert "±".encode() in casper(commands(runs, tmp_path)["report"], PYTHONIOENCODING="utf-8")[1]


def test_a_written_report_does_not_depend_on_the_terminal(runs, tmp_path):
    command = commands(runs, tmp_path)["written"]
    written = []
    for encoding in ("ascii", "utf-8"):
        assert casper(command, PYTHONIOENCODING=encoding)[0] == 0
        written.append((tmp_path / "report.md").read_bytes())
    assert written[0] == written[1]


@pytest.mark.soak
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "cp437", "utf-16", "shift_jis", "koi8-r", "utf-8"])
def test_every_command_in_every_encoding(runs, tmp_path, encoding):
    count = 0
    for locale in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        for name, command in commands(runs, tmp_path / str(count)).items():
            status, output, told = casper(command, PYTHONIOENCODING=encoding, **locale)
            assert (status, told.count("\n") - told.count("warning: ")) == (0, 0), (name, told)
            output.decode(encoding)
            count += 1
    print(f"{encoding}: {count} commands")


def test_without_a_home_directory(runs, tmp_path):
    gone = dict.fromkeys(["HOME", "XDG_CACHE_HOME", "CASPER_CACHE"])
    (tmp_path / "own" / "cat").mkdir(parents=True)
    (tmp_path / "own" / "cat" / "1.png").touch()
    folder = ["run", *QUICK, "--stream", f"folder:{tmp_path / 'own'}", "--out", str(tmp_path / "run")]
    status, _, told = casper(folder, _NOBODY, **gone)
    assert (status, told) == (
        2,
        "casper: decoded images have no place: there is no home directory; set CASPER_CACHE\n",
    )
    status, _, told = casper(["run", *QUICK, "--stream", "folder:~/own"], _NOBODY, **gone)
    assert (status, told.count("\n")) == (2, 1)
    assert told.startswith("casper: folder:~/own: no such directory")
    status, _, told = casper(
        ["--install-completion", "bash"], _NOBODY, **gone, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
    )
    assert (status, told) == (2, "casper: there is no home directory; set HOME\n")
    status, output, told = casper(["doctor"], _NOBODY, **gone)
    assert (status, told) == (0, "")
    assert b"there is no home directory" in output
    status, _, told = casper(["run", *QUICK, "--out", str(tmp_path / "digits")], _NOBODY, **gone)
    assert (status, told) == (0, "")


def test_a_figure_without_a_home_prints_no_warning(runs, tmp_path):
    arguments = ["figure", "accuracy", str(runs / "first"), "--out", str(tmp_path / "figure.svg")]
    nowhere = dict.fromkeys(("HOME", "MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"))
    status, _, told = casper(arguments, _NOBODY, **nowhere)
    assert (status, told) == (0, "")
