import inspect
import os
import subprocess
import sys

import pytest
import torch
from typer.main import get_command

from casper.cli.app import app, main
from casper.cli.options import (
    HowToRun,
    choose_device,
    limit_decoded_size,
    makes_many_runs,
    use_threads,
    with_run_options,
)
from casper.config import ConfigError, Options
from casper.config.errors import WITHOUT_FLAG, flag


def test_auto_takes_a_gpu_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("auto") == "cuda"
    assert choose_device("cuda:1") == "cuda:1"
    with pytest.raises(ConfigError, match=r"--device cuda:2 is not available: this machine has 2 GPUs"):
        choose_device("cuda:2")


@pytest.mark.parametrize("name", ["gpu", "", "cuda:", "cuda:x", "CPU", "cuda;rm"])
def test_other_names_are_refused(name):
    with pytest.raises(ConfigError, match="--device must be auto, cpu, cuda or cuda:N"):
        choose_device(name)


def test_threads():
    before = torch.get_num_threads()
    use_threads(None)
    assert torch.get_num_threads() == before
    for threads in (0, -1, 10**12):
        with pytest.raises(ConfigError, match=rf"--threads must be in \[1, 1024\], but got {threads}"):
            use_threads(threads)
    use_threads(2)
    assert torch.get_num_threads() == 2
    use_threads(before)


def test_the_limit_of_decoded_images_holds_here_and_in_new_processes(monkeypatch):
    monkeypatch.setenv("CASPER_MAX_DECODED_SIZE", "1GB")
    limit_decoded_size(None)
    assert os.environ["CASPER_MAX_DECODED_SIZE"] == "1GB"
    with pytest.raises(ConfigError, match=r"^--max-decoded-size must be a size such as 500MB or 4GB, but got '4'$"):
        limit_decoded_size("4")
    limit_decoded_size("20GB")
    assert os.environ["CASPER_MAX_DECODED_SIZE"] == "20GB"


@pytest.mark.parametrize("command", ["run", "sweep", "search", "reproduce", "analyse"])
def test_commands_that_load_images_have_the_limit(command):
    assert "--max-decoded-size" in {name for each in get_command(app).commands[command].params for name in each.opts}


def test_a_command_takes_the_shared_options_as_one():
    seen = {}

    @makes_many_runs
    def command(place: str, own: int = 3, *, how: HowToRun) -> None:
        """Do something."""
        seen.update(place=place, own=own, how=how)

    assert [*inspect.signature(command).parameters] == ["place", "own", *HowToRun.__dataclass_fields__]
    assert command.__doc__ == "Do something."
    values = {name: field.default for name, field in HowToRun.__dataclass_fields__.items()}
    command(place="here", own=4, **{**values, "jobs": 7})
    assert seen == {"place": "here", "own": 4, "how": HowToRun(jobs=7)}


def test_every_option_of_a_run_is_an_option_of_the_command():
    options = {option.name: option for option in get_command(app).commands["run"].params}
    assert options.keys() & Options.model_fields.keys() == Options.model_fields.keys() - {*WITHOUT_FLAG}
    for name, field in Options.model_fields.items():
        if name not in WITHOUT_FLAG:
            assert options[name].help == field.description
            assert flag(name) in options[name].opts


def test_a_command_takes_the_options_of_a_run_that_were_given():
    seen = []

    @with_run_options("method", "epochs", "recalibrate")
    def command(*, flags: dict, other: int = 3) -> None:
        seen.append((flags, other))

    parameters = inspect.signature(command).parameters
    assert [*parameters] == ["method", "epochs", "recalibrate", "other"]
    assert {parameter.default for name, parameter in parameters.items() if name != "other"} == {None}
    command(method="er", epochs=None, recalibrate=False, other=4)
    assert seen == [({"method": "er", "recalibrate": False}, 4)]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--epochs", "x"], "--epochs"),
        (["--lr", "fast"], "--lr"),
        (["--epochs", "1.5"], "--epochs"),
        (["--set", "lr=1", "--lr", "2"], "lr must be given once, but is given as an option and with --set"),
        (["--precision", "fp16"], "--precision"),
        (["--class-order", "random"], "--class-order"),
    ],
)
def test_a_bad_value_is_one_line(arguments, complaint, capsys):
    assert main(["run", *arguments]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("casper run --method er", ["er", "er-ace"]),
        ("casper run --regularizer c", ["casper", "cscct"]),
        ("casper search --stream rotated-m", ["rotated-mnist"]),
        ("casper run --buf", ["--buffer-size"]),
        ("casper dem", ["demo"]),
    ],
)
def test_a_shell_completes_names_without_importing_pytorch(words, expected):
    code = (
        "import sys; sys.argv[0] = 'casper'; from casper.cli.app import main\n"
        "try:\n    main()\nexcept SystemExit:\n    sys.exit('torch' in sys.modules)"
    )
    variables = {"_CASPER_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    program = [sys.executable, "-c", code]
    done = subprocess.run(program, env={**os.environ, **variables}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == expected
    assert done.stderr == ""
