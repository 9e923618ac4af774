import json
from pathlib import Path

import pytest

from casper.cli.app import main
from casper.config import resolve_config
from casper.sweeps import LocalLauncher
from casper.sweeps.launcher import LaunchedRun, Outcome

QUICK = {"epochs": 1, "backbone": {"width": 4}, "tasks": 2, "regularizer": "none", "lr": 0.1}


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def no_run(monkeypatch):
    """No process is started."""
    monkeypatch.setattr(LocalLauncher, "launch", lambda *_: pytest.fail("launched"))


def sweep_file(name="mine.yaml", **layout):
    Path(name).write_text(json.dumps({**QUICK, **layout}))  # JSON is YAML
    return name


def contents(folder):
    return {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in Path(folder).rglob("*") if file.is_file()}


def test_a_sweep_is_made_once_and_a_failure_is_told(capsys, monkeypatch):
    file = sweep_file(grid={"seed": [0, 1]})
    assert main(["sweep", file, "--jobs", "2", "--threads", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 runs: 2 missing; in runs/mine, 2 at a time with 1 thread each"
    names = {resolve_config({**{"backbone.width": 4}, **flat(QUICK), "seed": seed}).name for seed in (0, 1)}
    assert {path.name for path in Path("runs/mine").iterdir()} == names
    assert {line.split()[1] for line in lines[1:3]} == names
    assert [line.split()[0] for line in lines[1:3]] == ["1/2", "2/2"]
    assert all(line.split()[2] == "done" for line in lines[1:3])
    assert lines[3:] == ["2 runs: 2 done; in runs/mine"]

    # Started again, it makes nothing and touches nothing.
    before = contents("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalLauncher, "launch", lambda *_: pytest.fail("launched"))
        assert main(["sweep", file, "--jobs", "2", "--threads", "1"]) == 0
    assert capsys.readouterr().out == "2 runs: 2 done; in runs/mine, 2 at a time with 1 thread each\n"
    assert contents("runs") == before

    # A sweep that shares a run with it and has one that cannot be made.
    failing = sweep_file("other.yaml", seed=0, runs=[{"lr": 1e30}, {"lr": 0.1}])
    assert main(["sweep", failing, "--out", "runs/mine", "--jobs", "2"]) == 1
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0].startswith("2 runs: 1 done, 1 missing; in runs/mine, 2 at a time")
    assert lines[1].endswith(", from the finished runs")
    assert lines[2].startswith("1/1  ")
    assert "failed  the loss is not finite in task 1" in lines[2]
    assert lines[3:] == ["2 runs: 1 done, 1 failed; in runs/mine"]
    assert captured.err == "casper: 1 run failed; the reasons are above, and in failure.json of each run\n"
    (record,) = Path("runs/mine").glob("*/failure.json")
    assert json.loads(record.read_text())["reason"].startswith("the loss is not finite in task 1")
    assert {file: content for file, content in contents("runs").items() if file in before} == before


def flat(layout):
    return {key: value for key, value in layout.items() if key != "backbone"}


@pytest.mark.usefixtures("no_run")
def test_a_dry_run_lists_and_writes_nothing(capsys):
    file = sweep_file(grid={"method": ["er", "x-der"], "seed": [0, 1]})
    assert main(["sweep", file, "--dry-run", "--jobs", "3", "--threads", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["missing"] * 4
    prefixes = [f"split-digits-{method}-none-{seed}-" for method in ("er", "x-der") for seed in (0, 1)]
    assert all(line.split()[1].startswith(prefix) for line, prefix in zip(lines[:4], prefixes, strict=True))
    assert lines[4:] == ["4 runs: 4 missing; in runs/mine, 3 at a time with 2 threads each"]
    assert [path.name for path in Path().iterdir()] == ["mine.yaml"]


@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize("command", [["sweep", "mine.yaml"], ["demo"], ["search", "--over", "lr=[0.1]"]])
def test_a_directory_that_cannot_be_written_is_one_line_on_standard_error(command, capsys, monkeypatch):
    def refuse(path):
        raise OSError(30, "Read-only file system", str(path))

    sweep_file()
    monkeypatch.setattr("casper.cli.make_runs.make_directory", refuse)
    assert main([*command, "--out", "elsewhere"]) == 2
    captured = capsys.readouterr()
    assert captured.err == "casper: --out elsewhere cannot be written: Read-only file system\n"
    assert "missing" not in captured.out


@pytest.mark.usefixtures("no_run")
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_directory_that_cannot_be_created_leaves_standard_output_empty(capsys):
    assert main(["sweep", sweep_file(), "--out", "/proc/q"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("casper: --out /proc/q cannot be written: ")
    assert captured.err.count("\n") == 1


def test_failed_runs_are_counted_on_standard_error(capsys, monkeypatch):
    monkeypatch.setattr(LocalLauncher, "launch", lambda *_: Failed())
    assert main(["sweep", sweep_file(grid={"seed": [0, 1]})]) == 1
    reported = capsys.readouterr().err
    assert reported == "casper: 2 runs failed; the reasons are above, and in failure.json of each run\n"


class Failed(LaunchedRun):
    """A run that has failed at once."""

    def outcome(self):
        return Outcome("failed", "out of luck")

    def stop(self):
        """Nothing is running."""


@pytest.mark.usefixtures("no_run")
def test_a_dry_run_says_how_far_each_run_is(capsys):
    file = sweep_file(grid={"seed": [0, 1]})
    assert main(["sweep", file, "--dry-run", "--out", "there"]) == 0
    name = capsys.readouterr().out.splitlines()[1].split()[1]
    assert main(["run", "--config", str(make_config()), "--seed", "1", "--out", f"there/{name}"]) == 0
    before = contents("there")
    capsys.readouterr()
    assert main(["sweep", file, "--dry-run", "--out", "there"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[:2]] == ["missing", "done"]
    (Path("there") / name / "metrics.json").unlink()
    assert main(["sweep", file, "--dry-run", "--out", "there"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["missing", "unfinished"]
    assert lines[2].startswith("2 runs: 1 missing, 1 unfinished; in there, ")
    assert contents("there").items() <= before.items()


def make_config():
    return Path(sweep_file("config.yaml"))


@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--jobs", "0"], "--jobs must be in [1, 1024], but got 0"),
        (["--jobs", "-1"], "--jobs must be in [1, 1024], but got -1"),
        (["--jobs", "1025"], "--jobs must be in [1, 1024], but got 1025"),
        (["--threads", "0"], "--threads must be in [1, 1024], but got 0"),
        (["--checkpoint-every", "0steps"], "--checkpoint-every must be "),
        (["--device", "gpu"], "--device must be auto, cpu, cuda or cuda:N, but got 'gpu'"),
        (["--jobs", "many"], "--jobs must be a valid integer, but got 'many'"),
        (
            ["--out", "mine.yaml"],
            "--out mine.yaml must be a directory, or a path for a new one, but mine.yaml is a file",
        ),
    ],
)
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_bad_option_is_one_line(capsys, options, complaint, dry):
    assert main(["sweep", sweep_file(), *options, *dry]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"casper: {complaint}")
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert [path.name for path in Path().iterdir()] == ["mine.yaml"]


@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "s.yaml cannot be read: No such file or directory"),
        ("a: [", "s.yaml must be plain YAML, but line 1, column 5: "),
        ("\x00", "s.yaml must be plain YAML, but "),
        ("- 1", "s.yaml must contain a mapping of keys to values, but got list"),
        ("sed: 1", "s.yaml: unknown key 'sed'; did you mean 'seed'? "),
        ("grid: {sed: [1, 2]}", "s.yaml: unknown key 'sed'; did you mean 'seed'? "),
        ("grid: {epochs: [1, 0]}", "s.yaml: --epochs must be "),
        ("grid: 3", "s.yaml: grid must be a mapping of keys to lists, but got 3"),
        ("runs: []", "s.yaml: runs must be a list of one or more mappings, but got []"),
        ("preset: gone.yaml", "s.yaml: gone.yaml cannot be read: No such file or directory"),
        ('"a\\eb\\nc": 1', "s.yaml: unknown key "),
        ('grid: {"a\\eb\\nc": [1]}', "s.yaml: unknown key "),
    ],
)
def test_a_bad_file_is_one_line(capsys, content, complaint):
    if content is not None:
        Path("s.yaml").write_text(content)
    assert main(["sweep", "s.yaml"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"casper: {complaint}")
    assert captured.err.removesuffix("\n").isprintable()
    assert captured.out == ""
    assert not Path("runs").exists()


OWN = """
from casper import Regularizer
from {module}_helper import scale

class Mine(Regularizer):
    name = generator_name = "mine"
    needs_memory = False

    def __init__(self, weight: float = 0.1) -> None:
        self.weight = weight

    def loss(self, step, passes, generator):
        return scale * passes["stream"].features.square().mean()
"""


def test_runs_of_changed_user_code_are_stale_and_are_repeated_on_request(capsys):
    Path("sweep_own.py").write_text(OWN.format(module="sweep_own"))
    Path("sweep_own_helper.py").write_text("scale = 1.0")
    regularizers = ["none", "sweep_own:Mine"]
    file = sweep_file(runs=[{"regularizer": name} for name in regularizers], regularizer=None)
    command = ["sweep", file, "--jobs", "2", "--threads", "1"]
    assert main(command) == 0
    plain, mine = sorted(Path("runs/mine").iterdir(), key=lambda path: "none" not in path.name)
    first = json.loads((mine / "metrics.json").read_text())
    assert first["user_code"]["sweep_own:Mine"]["name"] == "mine"
    capsys.readouterr()

    Path("sweep_own_helper.py").write_text("scale = 30.0")
    before = contents("runs")
    assert main(command) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    reason = "a class or a trunk of yours has changed since"
    assert lines == [f"stale: {mine.name}", f"note: 1 run: {reason}; repeat with --rerun-stale"]
    assert contents("runs") == before

    assert main([*command, "--rerun-stale", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("outdated")] == [f"outdated   {mine.name}  {reason}"]
    assert contents("runs") == before

    assert main([*command, "--rerun-stale"]) == 0
    assert "2 runs: 1 done, 1 outdated;" in capsys.readouterr().out
    now = contents("runs")
    assert {path: content for path, content in now.items() if plain in path.parents} == {
        path: content for path, content in before.items() if plain in path.parents
    }
    second = json.loads((mine / "metrics.json").read_text())
    assert second["class_il"] != first["class_il"]
    assert second["user_code"] != first["user_code"]

    assert main([*command, "--rerun-stale"]) == 0  # nothing is left to repeat
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert contents("runs") == now

    # Code that cannot be run does not pass for the result of before.
    Path("sweep_own_helper.py").write_text("scale = 1 / 0")
    assert main([*command, "--rerun-stale"]) == 1
    assert "failed" in capsys.readouterr().out
    assert contents("runs")[mine / "metrics.json"] == now[mine / "metrics.json"]


def test_runs_of_another_version_are_noted_and_repeated_only_with_overwrite(capsys):
    file = sweep_file(seed=0)
    command = ["sweep", file, "--threads", "1"]
    assert main(command) == 0
    (run,) = Path("runs/mine").iterdir()
    result = json.loads((run / "metrics.json").read_text())
    (run / "metrics.json").write_text(json.dumps({**result, "code": "0.0.1 abc", "steps": 1}))
    capsys.readouterr()
    for options in ([], ["--rerun-stale"]):
        assert main([*command, *options]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[1:] == ["note: 1 run: made by another version of casper; repeat with --overwrite"]
    assert main([*command, "--overwrite"]) == 0
    again = json.loads((run / "metrics.json").read_text())
    assert {**again, "seconds": 0} == {**result, "seconds": 0}
    before = contents("runs")
    assert main([*command, "--overwrite"]) == 0  # the same command does not repeat what it has made
    assert contents("runs") == before


def test_a_dry_run_first_names_the_modules_that_it_imports(no_run, capsys):
    Path("dry_own.py").write_text("print('imported now')\n" + OWN.format(module="dry_own"))
    Path("dry_own_helper.py").write_text("scale = 1.0")
    Path("other_own.py").write_text("from dry_own import Mine")
    file = sweep_file(runs=[{"regularizer": name} for name in ("other_own:Mine", "dry_own:Mine", "casper")])
    assert main(["sweep", file, "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["importing dry_own, other_own", "imported now"]
