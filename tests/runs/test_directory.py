import json
from contextlib import nullcontext
from dataclasses import replace

import pytest
import yaml

from casper import files
from casper.config import ConfigError, resolve_config
from casper.runs import RunDirectory
from casper.runs.code_version import code_version
from casper.runs.directory import kept_checkpoints, kept_path
from casper.training import CheckpointError, damaged, previous
from faulty_disk import FailingAt, FullDisk


def test_in_the_order_of_tasks_and_nothing_else(tmp_path):
    for number in (10, 2, 100):
        kept_path(tmp_path, number).touch()
    for other in ("checkpoint.pt", "checkpoint.task-03.pt.tmp", "checkpoint.task-x.pt", "checkpoint.task-3.pt"):
        (tmp_path / other).touch()
    found = kept_checkpoints(tmp_path)
    assert list(found) == [2, 10, 100]
    assert found[2].name == "checkpoint.task-02.pt"
    assert kept_checkpoints(tmp_path / "missing") == {}


CONFIG = resolve_config({"seed": 2})
HEX = "0123456789abcdef"
ENVIRONMENT = {
    "casper": "1",
    "device": "cpu",
    "threads": 1,
    "data_dir": None,
    "keep_checkpoints": True,
    "analyse": False,
}
METRICS = {"class_il": {}, "domain_il": None, "latent": {}, "steps": 1, "seconds": {}}


@pytest.fixture
def run(tmp_path):
    directory = RunDirectory(tmp_path / "run")
    directory.path.mkdir()
    directory.create(CONFIG, {"threads": 1})
    return directory


def test_config_holds_every_value_and_its_origin(run):
    layout = yaml.safe_load(run.config.read_text())
    origin = layout.pop("origin")
    assert layout == CONFIG.as_dict()
    assert origin["seed"] == "user"
    assert run.read_config() == CONFIG
    assert run.read_environment() == {"threads": 1}


def test_a_run_is_begun_then_finished(run):
    assert run.state() == run.check(CONFIG) == "unfinished"
    run.finish(METRICS)
    assert run.state() == "finished"
    assert run.read_metrics() == METRICS
    with pytest.raises(
        ConfigError, match="contains this run, finished; --resume prints its result, --overwrite repeats it"
    ):
        run.check(CONFIG)


@pytest.mark.parametrize("finished", [False, True])
def test_another_configuration_is_refused_by_the_keys_that_differ(run, finished):
    if finished:
        run.finish(METRICS)
    other = resolve_config({"seed": 3, "lr": 0.25, "casper.weight": 0.5})
    state = "finished" if finished else "unfinished"
    with pytest.raises(ConfigError) as caught:
        run.check(other)
    assert str(caught.value) == (
        f"run directory {run.path} contains another run ({state}), which differs in "
        "casper.weight (0.01 there, 0.5 here), lr (0.1 there, 0.25 here), seed (2 there, 3 here); "
        "choose another --out, or --overwrite it"
    )


def test_a_method_of_its_own_keys(run):
    with pytest.raises(
        ConfigError, match=r"der\+\+\.alpha \(not set there, 0\.3 here\).*method \('er-ace' there, 'der\+\+' here\)"
    ):
        run.check(resolve_config({"seed": 2, "method": "der++"}))


def test_creating_again_leaves_nothing_of_the_run_and_what_is_not_the_runs(run):
    run.write_checkpoint(CONFIG, {"a": 1})
    run.write_checkpoint(CONFIG, {"a": 2})
    damaged(run.checkpoint).write_bytes(b"half")
    run.finish(METRICS)
    run.analysis.write_text("{}")
    run.embedding.write_bytes(b"")
    run.keep_checkpoint(CONFIG, {"a": 1}, 3)
    (run.path / "notes.txt").write_text("mine")
    run.create(CONFIG, {})
    assert {file.name for file in run.path.iterdir()} == {"config.yaml", "environment.json", "log.jsonl", "notes.txt"}


@pytest.mark.parametrize("number", range(21))
def test_overwriting_never_leaves_a_result_beside_another_configuration(run, monkeypatch, number):
    run.write_checkpoint(CONFIG, {"a": 1})
    run.finish(METRICS)
    other = resolve_config({"seed": 3})
    monkeypatch.setattr(files, "disk", FailingAt(number))
    with pytest.raises(ConfigError, match="cannot be written") if number < 20 else nullcontext():
        run.create(other, ENVIRONMENT)
    if run.state() == "finished":  # nothing was removed yet
        assert run.read_config() == CONFIG
        assert run.log.exists()
        assert run.environment.exists()
        assert run.has_checkpoint
    assert run.environment.exists()
    if run.read_config() == other:
        assert run.state() == "unfinished"
        assert not run.has_checkpoint


def test_states_after_tasks_stay_until_they_are_dropped(run):
    run.write_checkpoint(CONFIG, {"a": 0})
    for number in (1, 2, 2):
        run.keep_checkpoint(CONFIG, {"a": number}, number)
    assert sorted(file.name for file in run.path.glob("*task*")) == ["checkpoint.task-01.pt", "checkpoint.task-02.pt"]
    assert run.load_state(run.path / "checkpoint.task-02.pt", CONFIG.hash)["a"] == 2
    run.drop_kept_checkpoints()
    assert not list(run.path.glob("*task*"))
    assert run.checkpoint.exists()


def test_a_failure_is_written_beside_what_there_is_and_is_no_run(tmp_path):
    failed = RunDirectory(tmp_path / "new" / "run")
    failed.write_failure("it was not to be")
    assert json.loads(failed.failure.read_text()) == {"reason": "it was not to be", "code": code_version()}
    assert failed.state() == "empty"
    failed.create(CONFIG, {})
    assert not failed.failure.exists()
    failed.write_failure("again")
    assert failed.state() == "unfinished"
    failed.write_failure(None)
    failed.write_failure(None)
    assert not failed.failure.exists()


def test_a_directory_that_is_no_run_is_never_touched(tmp_path):
    (tmp_path / "precious.txt").write_text("x")
    with pytest.raises(ConfigError, match=r"but has other files and no config\.yaml"):
        RunDirectory(tmp_path).check(CONFIG)
    with pytest.raises(ConfigError, match=r"but has other files and no config\.yaml"):
        RunDirectory(tmp_path).state()


@pytest.mark.parametrize(
    "left", [[], [".lock", ".owner"], ["config.yaml.tmp", ".lock"], [f"config.yaml.{HEX}.tmp", f".owner.{HEX}.tmp"]]
)
def test_what_a_process_leaves_that_was_killed_as_it_began_is_nothing(tmp_path, left):
    for name in left:
        (tmp_path / name).write_text("half")
    assert RunDirectory(tmp_path).check(CONFIG) == "empty"


def test_temporary_files_of_killed_processes_are_removed(run):
    mine = ["notes.txt", f"notes.{HEX}.tmp", "checkpoint.pt.backup.tmp"]
    left = [f"checkpoint.pt.{HEX}.tmp", f"checkpoint.task-03.pt.{HEX}.tmp", f".owner.{HEX}.tmp", "log.jsonl.tmp"]
    before = {file.name for file in run.path.iterdir()}
    for name in [*mine, *left]:
        (run.path / name).write_text("half")
    run.remove_stale()
    assert {file.name for file in run.path.iterdir()} == {*before, *mine}


def test_a_path_that_cannot_be_a_directory_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="must be a directory, but is a file"):
        RunDirectory(tmp_path / "file").check(CONFIG)
    with pytest.raises(ConfigError, match=r"^run directory .* must be in a directory, but file is a file$"):
        RunDirectory(tmp_path / "file" / "below" / "deep").check(CONFIG)
    with pytest.raises(ConfigError, match="cannot be written"):
        RunDirectory(tmp_path / "missing").create(CONFIG, {})


@pytest.mark.parametrize("number", range(21))
def test_a_run_that_could_not_be_created_is_no_run_or_one_without_a_result(tmp_path, monkeypatch, number):
    directory = RunDirectory(tmp_path)
    monkeypatch.setattr(files, "disk", disk := FailingAt(number))
    fails = pytest.raises(ConfigError, match="cannot be written: Input/output error")
    with fails if number < 20 else nullcontext():
        directory.create(CONFIG, ENVIRONMENT)
    assert disk.calls == min(number + 1, 20)  # 8 removals and a sync; 4 + 4 + 3 for the files: the log is empty
    assert directory.state() in ("empty", "unfinished")
    if directory.state() == "unfinished":
        assert directory.read_config() == CONFIG
        assert directory.lost_options() == ""


def test_a_directory_without_a_configuration_is_no_run(run):
    run.write_environment(ENVIRONMENT)
    run.config.unlink()
    run.log.unlink()
    assert run.check(CONFIG) == "empty"
    run.environment.write_text("{}")  # of something else than casper
    with pytest.raises(ConfigError, match=r"other files and no config\.yaml"):
        run.state()


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ({}, []),
        ({"threads": 0}, ["--threads"]),
        ({"threads": True, "device": None}, ["--device", "--threads"]),
        (
            {"data_dir": 1, "keep_checkpoints": "yes", "analyse": None},
            ["--data-dir", "--keep-checkpoints", "--analyse"],
        ),
    ],
)
def test_options_that_a_damaged_environment_has_lost(run, change, lost):
    run.write_environment({**ENVIRONMENT, **change})
    told = f"{run.environment} is damaged; lost: {', '.join(lost)}; give those that the run had"
    assert run.lost_options() == (told if lost else "")
    run.environment.write_text("{")
    assert "--device, --threads, --data-dir, --keep-checkpoints, --analyse" in run.lost_options()
    run.environment.unlink()
    assert "is missing; lost: --device" in run.lost_options()


@pytest.mark.parametrize(
    "content", ["", "- a list", "seed: [", "seed: 2", "!!python/object:os.system {}", "lr: 2001-01-01"]
)
def test_a_configuration_that_cannot_be_read_is_said(run, content):
    run.config.write_text(content)
    if content == "seed: 2":  # all else is the default, as in any configuration file
        assert run.read_config() == CONFIG
        return
    with pytest.raises(ConfigError, match="contains a run that cannot be read"):
        run.check(CONFIG)


def test_a_configuration_that_cannot_be_made_is_said(run):
    run.config.write_text("lr: heavy\n")
    with pytest.raises(ConfigError, match="contains a run that cannot be executed: --lr must be"):
        run.read_config()


@pytest.mark.parametrize("content", ["", "{", "{}", "[1]", "[" * 100_000, '"text"', "\0"])
def test_a_result_that_cannot_be_read_is_said(run, content):
    run.metrics.write_text(content)
    with pytest.raises(ConfigError, match=r"metrics\.json must (be|contain)"):
        run.read_metrics()
    run.environment.write_text(content)
    assert run.read_environment() == {}


def test_numbers_are_compared_and_not_how_they_are_written(run):
    run.config.write_text(run.config.read_text().replace("gamma: 0.1", "gamma: 1.0e-1").replace("seed: 2", "seed: 2.0"))
    assert "1.0e-1" in run.config.read_text()
    assert run.check(CONFIG) == "unfinished"


def test_checkpoints_the_latest_that_is_whole(run):
    assert run.read_checkpoint(CONFIG) == (None, None)
    run.write_checkpoint(CONFIG, {"number": 1})
    assert run.read_checkpoint(CONFIG)[0]["number"] == 1
    run.write_checkpoint(CONFIG, {"number": 2})
    state, damage = run.read_checkpoint(CONFIG)
    assert (state["number"], damage) == (2, None)
    run.checkpoint.write_bytes(run.checkpoint.read_bytes()[:-1])
    state, damage = run.read_checkpoint(CONFIG)
    assert state["number"] == 1
    assert damage == f"{run.checkpoint} is damaged: its checksum does not match"


def test_after_a_damaged_one_the_good_one_is_kept_and_the_damaged_one_too(run):
    for number in (1, 2):
        run.write_checkpoint(CONFIG, {"number": number})
    run.checkpoint.write_bytes(b"damaged")
    run.put_damaged_aside()
    run.write_checkpoint(CONFIG, {"number": 3})
    numbers = [run.load_state(file, CONFIG.hash)["number"] for file in (run.checkpoint, previous(run.checkpoint))]
    assert numbers == [3, 1]
    assert damaged(run.checkpoint).read_bytes() == b"damaged"


def test_between_two_renamings_the_one_before_is_the_latest(run):
    for number in (1, 2):
        run.write_checkpoint(CONFIG, {"number": number})
    run.checkpoint.unlink()
    state, damage = run.read_checkpoint(CONFIG)
    assert (state["number"], damage) == (1, None)


def test_if_all_are_damaged_nothing_is_touched(run):
    for number in (1, 2):
        run.write_checkpoint(CONFIG, {"number": number})
    for file in (run.checkpoint, previous(run.checkpoint)):
        file.write_bytes(file.read_bytes()[::-1])
    before = {file.name: file.read_bytes() for file in run.path.iterdir()}
    with pytest.raises(ConfigError, match=r"checkpoint\.pt is damaged.*; .*checkpoint\.previous\.pt is damaged"):
        run.read_checkpoint(CONFIG)
    assert {file.name: file.read_bytes() for file in run.path.iterdir()} == before


def test_a_state_of_another_configuration_or_format_is_refused(run):
    run.write_checkpoint(replace(CONFIG, hyper={}), {})
    with pytest.raises(CheckpointError, match="with another configuration"):
        run.load_state(run.checkpoint, CONFIG.hash)
    assert run.load_state(run.checkpoint, None)["format"] == 3
    run.write_checkpoint(CONFIG, {"format": 99})
    with pytest.raises(CheckpointError, match="must be of format 3, but got 99"):
        run.load_state(run.checkpoint, CONFIG.hash)


def test_a_full_disk_at_the_end_leaves_no_result(run, monkeypatch):
    monkeypatch.setattr(files, "disk", FullDisk(0))
    with pytest.raises(OSError, match="No space left"):
        run.finish(METRICS)
    assert run.state() == "unfinished"
    assert not [file for file in run.path.iterdir() if file.name.startswith("metrics")]
    json.loads(run.environment.read_text())
