"""Random and hostile configurations: each is a run, or one readable line and status 2, and nothing on the disk."""

import json
import random
import shutil
import string
import tempfile
from collections import Counter
from pathlib import Path

import pytest
import yaml

from casper.cli.app import main
from casper.config import BACKBONES, METHODS, REGULARIZERS, Options
from casper.runs.build import build_trainer
from casper.training import StepDone
from finished import write_run

FILES, LINES, BLOCKS = 60, 60, 6
QUICK = ["--epochs", "1", "--set", "backbone.width=4", "--tasks", "2"]

NUMBERS = [-1, 0, 1, 2, 3, 5, 8, 0.5, -0.5, 1e-3, 1e30, 2**31, 2**63, -(2**63), 10**30, True]
ODD = [None, "", "x", "nan", "inf", float("nan"), float("inf"), [], [1], [[]], {}, {"a": 1}, {"a": {"b": 1}}, "ü", "\0"]
ODD += [
    "../..",
    "none",
    "task",
    "1e3",
    "[1,",
    "{",
    "!!python/name:os",
    "*a",
    "&a 1",
    "%",
    "- 1",
    "x" * 5000,
    ":",
    "a:b",
]
ODD += ["os:system", "casper:Trainer", "hub:", "hub:a/b/c", "folder:", "folder:.", "npz:/dev/null", "timm:x", "er_ace"]
NAMES = {
    "stream": ["split-digits", "rotated-digits", "split-cifar10", "npz:missing"],
    "method": [*METHODS],
    "regularizer": [*REGULARIZERS, "none"],
    "backbone": [*BACKBONES],
    "precision": ["fp32", "bf16"],
    "class_order": ["label", "shuffled"],
    "protocol": ["paper", "desk"],
}
OWNED = ["casper.weight", "casper.num_classes", "casper.num_neighbors", "casper.sampling", "casper.convention"]
OWNED += ["forward-only.num_classes", "der++.alpha", "x-der.eta", "podnet.num_proxies", "icarl.released"]
OWNED += ["scr.temperature"]
OWNED += ["backbone.width", "backbone.hidden", "backbone.name", "split-digits.seed", "er-ace.nothing", "a.b.c", ".", ""]
OPTIONS = [*Options.model_fields, "protocol", "origin", "out", "nothing"]


class EnoughError(Exception):
    """The run has really begun: that will do."""


@pytest.fixture(autouse=True)
def short_runs(tmp_path, monkeypatch):
    """Every run in a directory of its own, two levels above which nobody else writes, ended after some steps."""
    (own := tmp_path / "some" / "where").mkdir(parents=True)
    monkeypatch.chdir(own)

    def building(*arguments, **options):
        steps = 0

        def limit(event):
            nonlocal steps
            steps += isinstance(event, StepDone)
            if steps > 2:
                raise EnoughError

        trainer = build_trainer(*arguments, **options)
        trainer.listeners += (limit,)
        return trainer

    monkeypatch.setattr("casper.runs.execution.build_trainer", building)


def value_of(key, draws):
    kind = draws.random()
    if key in NAMES and kind < 0.7:
        name = draws.choice(NAMES[key])
        return [name] if key == "regularizer" and kind < 0.35 else name
    if key == "backbone.width":  # a wide network is a valid one, and takes long
        return draws.choice([*ODD, -1, 0, 1, 2, 10**30])
    return draws.choice(NUMBERS if kind < 0.6 else ODD)


def outcome(arguments, capsys):
    """Run a command line: True: a run, False: a refusal. Anything else is a failure."""
    before = {*Path().rglob("*"), *Path("..").iterdir(), *Path("../..").iterdir()}
    capsys.readouterr()
    try:
        status = main(arguments)
    except EnoughError:
        return True
    captured = capsys.readouterr()
    if status == 0:
        return True
    assert status in (1, 2), captured.err
    assert captured.err.startswith("casper: "), captured.err
    # What there is to say about a data set that is nowhere takes a second line: how to get it.
    assert captured.err.count("\n") <= 1 + ("Where there is a network" in captured.err), captured.err
    assert len(captured.err) < 3000
    assert all(letter.isprintable() or letter == "\n" for letter in captured.err)
    if status == 1:  # it has begun, and left the numbers
        assert "not finite" in captured.err, captured.err
        return True
    assert {*Path().rglob("*"), *Path("..").iterdir(), *Path("../..").iterdir()} == before
    return False


def random_layout(draws):
    keys = [draws.choice(OPTIONS if draws.random() < 0.7 else OWNED) for _ in range(draws.randint(0, 4))]
    layout = {}
    for key in keys:
        value = value_of(key, draws)
        owner, dot, name = key.partition(".")
        if dot and isinstance(layout.setdefault(owner, {}), dict):
            layout[owner][name] = value
        else:
            layout[key] = value
    if draws.random() < 0.05:
        layout[draws.choice([1, None, 2.5, True])] = 1
    return layout


def random_text(draws):
    """A file: mostly a mapping, sometimes damaged, sometimes nothing of the kind."""
    kind = draws.random()
    if kind < 0.04:
        return "".join(draws.choices(string.printable + "\0ü\x1b", k=draws.randint(0, 300)))
    if kind < 0.06:
        return "[" * draws.randint(1, 5000)
    if kind < 0.08:
        return "a: &a [1, 1]\n" + "".join(f"b{i}: [*a, *a]\n" for i in range(5))
    text = yaml.safe_dump(random_layout(draws), allow_unicode=True)
    if kind < 0.16 and text:
        place = draws.randrange(len(text))
        text = text[:place] + draws.choice(["\t", ":", "[", "}", "\0", "'", "\n", "- ", "!!"]) + text[place:]
    return text


@pytest.mark.parametrize("block", range(BLOCKS))
def test_configuration_files(block, capsys):
    draws = random.Random(block)
    outcomes = []
    for number in range(FILES):
        Path("own.yaml").write_text(text := random_text(draws), "utf-8", errors="surrogateescape")
        try:
            outcomes.append(outcome(["run", "--config", "own.yaml", "--out", f"runs/{number}"], capsys))
        except Exception as error:
            raise AssertionError(f"{error!r} for the file\n{text[:2000]}") from error
    assert 5 <= sum(outcomes) <= FILES - 20  # both kinds are met


def random_sweep(draws):
    """A sweep file: a configuration with a grid or a list of runs, or what somebody might take for one."""
    layout = random_layout(draws) if draws.random() < 0.5 else {}
    if draws.random() < 0.8:
        keys = [draws.choice([*OPTIONS, *OWNED]) for _ in range(draws.randint(0, 2))]
        values = {key: [value_of(key, draws) for _ in range(draws.randint(0, 3))] for key in keys}
        layout["grid"] = values if draws.random() < 0.9 else draws.choice([*ODD, *NUMBERS])
    if draws.random() < 0.4:
        runs = [random_layout(draws) for _ in range(draws.randint(0, 2))]
        layout["runs"] = runs if draws.random() < 0.9 else draws.choice([*ODD, *NUMBERS])
    if draws.random() < 0.2:
        layout[draws.choice(["preset", "title"])] = draws.choice(ODD)
    return yaml.safe_dump(layout, allow_unicode=True)


@pytest.mark.parametrize("block", range(2))
def test_sweep_files(block, capsys):
    draws = random.Random(2000 + block)
    outcomes = []
    for _ in range(150):
        Path("own.yaml").write_text(text := random_sweep(draws), "utf-8", errors="surrogateescape")
        try:
            outcomes.append(outcome(["sweep", "own.yaml", "--dry-run"], capsys))
        except Exception as error:
            raise AssertionError(f"{error!r} for the file\n{text[:2000]}") from error
    assert 15 <= sum(outcomes) <= 120


def random_arguments(draws):
    arguments = []
    for _ in range(draws.randint(0, 5)):
        key = draws.choice([*OPTIONS, "threads", "device", "checkpoint_every", "resume", "data_dir", "overwrite", "x"])
        value = value_of(key, draws)
        kind = draws.random()
        if kind < 0.25:
            owned = draws.choice([*OWNED, *OPTIONS])
            arguments += ["--set", f"{owned}={value_of(owned, draws)}"]
        elif kind < 0.3:
            arguments.append(draws.choice(["--set", "--", "-h1", "-", "--lr=", "=", "--set=", "run", "\x1b[31m"]))
        elif key in ("overwrite", "recalibrate"):
            arguments.append(f"--{key}")
        else:
            arguments += ["--" + key.replace("_", "-"), str(value)]
    return arguments


@pytest.mark.parametrize("block", range(BLOCKS))
def test_command_lines(block, capsys):
    draws = random.Random(1000 + block)
    outcomes = []
    for number in range(LINES):
        arguments = random_arguments(draws)
        out = [] if "--out" in arguments or "--resume" in arguments else ["--out", f"runs/{number}"]
        try:
            outcomes.append(outcome(["run", *arguments, *out], capsys))
        except Exception as error:
            raise AssertionError(f"{error!r} for {arguments}") from error
    assert 5 <= sum(outcomes) <= LINES - 20


def damage(path, draws):
    """Do something to a file that no program of ours would."""
    data, kind = bytearray(path.read_bytes()), draws.randrange(6)
    if kind == 0:
        path.unlink()
    elif kind == 1:
        path.write_bytes(data[: draws.randrange(len(data) + 1)])
    elif kind == 2 and data:
        data[draws.randrange(len(data))] ^= 1 << draws.randrange(8)
        path.write_bytes(data)
    elif kind == 3:
        path.write_text(json.dumps(draws.choice([*NUMBERS[:8], *ODD, {"class_il": draws.choice(ODD)}])))
    elif kind == 4:
        path.write_bytes(draws.randbytes(200))
    else:
        path.unlink()
        path.mkdir()


def test_reports_over_damaged_runs(capsys, tmp_path):
    """Each is a report, or one line and status 2."""
    draws, statuses = random.Random(9), Counter()
    for number in range(60):
        folder = tmp_path / str(number)
        places = [write_run(folder, {"method": "er", "seed": seed}, 50.0 + seed) for seed in (0, 1)]
        damage(places[0] / draws.choice(["config.yaml", "metrics.json"]), draws)
        if draws.random() < 0.5 and (places[1] / "metrics.json").is_file():
            metrics = json.loads((places[1] / "metrics.json").read_text())
            metrics[draws.choice([*metrics])] = draws.choice(
                [*NUMBERS[:8], *ODD[:3], [], {}, [[]], {"accuracy_matrix": 3}]
            )
            (places[1] / "metrics.json").write_text(json.dumps(metrics))
        for name in ("r.md", "r.html", "r.csv", "r.tex"):
            status = main(["report", str(folder), "--out", str(folder / name)])
            error = capsys.readouterr().err
            assert status in (0, 2), error
            assert error.count("\n") <= 3, error  # two warnings, and that nothing is left
            assert all(line.startswith("casper: ") for line in error.splitlines()), error
            assert (folder / name).exists() == (status == 0)
            statuses[status] += 1
    assert min(statuses[0], statuses[2]) >= 8, statuses


def test_run_directories(capsys, monkeypatch):
    monkeypatch.undo()  # runs to their end
    draws = random.Random(7)
    base = tempfile.mkdtemp()
    monkeypatch.chdir(base)
    assert main(["run", *QUICK, "--out", "whole", "--checkpoint-every", "10steps"]) == 0
    names = sorted(file.name for file in Path("whole").iterdir())
    statuses = Counter()
    for number in range(80):
        run = Path(f"run{number}")
        shutil.copytree("whole", run)
        if draws.random() < 0.8:
            (run / "metrics.json").unlink()
        for name in draws.sample(names, draws.randint(1, 3)):
            if (run / name).exists():
                damage(run / name, draws)
        capsys.readouterr()
        for command in (["doctor", str(run)], ["run", "--resume", str(run)]):
            statuses[command[0], status := main(command)] += 1
            error = capsys.readouterr().err
            assert status in (0, 1, 2)
            assert error.count("\n") <= 3, error  # a complaint, or a warning for each of three files
            assert all(line.startswith("casper: ") for line in error.splitlines()), error
    assert min(statuses["run", 0], statuses["run", 2], statuses["doctor", 0], statuses["doctor", 1]) >= 5, statuses
    shutil.rmtree(base)
