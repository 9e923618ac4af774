import json

import pytest

from casper.config import ConfigError, resolve_config
from casper.runs import CheckpointEvery, examine_run, execute
from casper.runs.lock import run_lock
from casper.training import StepDone, previous

CONFIG = resolve_config({"epochs": 1, "backbone.width": 4, "tasks": 2})


class CrashError(Exception):
    pass


@pytest.fixture
def begun(tmp_path):
    """A run that has crashed after step 12, with a checkpoint after 5 and one after 10."""

    def crash(event):
        if isinstance(event, StepDone) and event.step == 11:
            raise CrashError

    with pytest.raises(CrashError):
        execute(CONFIG, tmp_path / "run", listeners=[crash], checkpoint_every=CheckpointEvery.parse("5steps"))
    return tmp_path / "run"


def contents(path):
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_an_unfinished_run_and_where_it_would_go_on(begun):
    before = contents(begun)
    found = examine_run(begun)
    assert found.usable
    assert found.verdict == "unfinished; would resume from checkpoint.pt: task 1, after step 10"
    assert found.files["config.yaml"] == f"intact; er-ace on split-digits, {CONFIG.hash}"
    assert found.files["log.jsonl"] == "2 lines"
    assert found.files["checkpoint.pt"].startswith("intact, 0.")
    assert found.files["checkpoint.previous.pt"].endswith("task 1, after step 5")
    assert contents(begun) == before


def test_a_damaged_checkpoint(begun):
    (begun / "checkpoint.pt").write_bytes(b"x")
    found = examine_run(begun)
    assert found.usable
    assert found.files["checkpoint.pt"] == "is damaged: its checksum does not match"
    assert found.verdict == "unfinished; would resume from checkpoint.previous.pt: task 1, after step 5"
    previous(begun / "checkpoint.pt").write_bytes(b"x")
    found = examine_run(begun)
    assert not found.usable
    assert found.verdict == "unfinished; cannot be resumed: every checkpoint is damaged"


def test_without_a_checkpoint_it_would_begin_anew(begun):
    (begun / "checkpoint.pt").unlink()
    previous(begun / "checkpoint.pt").unlink()
    found = examine_run(begun)
    assert found.usable
    assert found.verdict == "unfinished; would restart: no checkpoint has been written"
    assert found.files["checkpoint.pt"] == "none"


def test_half_a_line_and_missing_files(begun):
    with (begun / "log.jsonl").open("a") as file:
        file.write('{"eve')
    (begun / "environment.json").unlink()
    found = examine_run(begun)
    assert found.usable
    assert found.files["log.jsonl"] == "2 lines; an incomplete last line would be cut off"
    assert found.files["environment.json"] == (
        "missing; lost: --device, --threads, --data-dir, --keep-checkpoints, --analyse; give those that the run had"
    )
    (begun / "log.jsonl").unlink()
    assert examine_run(begun).files["log.jsonl"] == "missing: No such file or directory"


def test_a_run_under_way(begun):
    with run_lock(begun):
        found = examine_run(begun)
        assert "running: process" in found.verdict
        assert found.usable


def test_a_finished_run(begun):
    execute(CONFIG, begun)
    found = examine_run(begun)
    assert (found.verdict, found.usable, found.files["metrics.json"]) == ("finished", True, "intact")
    environment = json.loads((begun / "environment.json").read_text())
    (begun / "environment.json").write_text(json.dumps({**environment, "analyse": True}))
    assert examine_run(begun).verdict == "finished, but not its analysis; --resume completes it"
    (begun / "metrics.json").write_text("{")
    found = examine_run(begun)
    assert (found.verdict, found.usable) == ("cannot be used: metrics.json is damaged", False)


def test_a_configuration_that_cannot_be_read(begun):
    (begun / "config.yaml").write_text("lr: [")
    found = examine_run(begun)
    assert (found.verdict, found.usable) == ("cannot be used: config.yaml is damaged", False)
    assert found.files["config.yaml"].startswith("damaged: ")
    assert found.files["checkpoint.pt"].endswith("task 1, after step 10")


def test_no_run(tmp_path):
    with pytest.raises(ConfigError, match="is not the directory of a run"):
        examine_run(tmp_path)


def test_nothing_that_a_configuration_names_is_imported(begun, tmp_path, monkeypatch):
    (tmp_path / "evil_doctor.py").write_text("import os\nos.mkdir('sprung')\n")
    monkeypatch.chdir(tmp_path)
    text = (begun / "config.yaml").read_text()
    (begun / "config.yaml").write_text(text.replace("method: er-ace", "method: evil_doctor:X"))
    assert "evil_doctor" in (begun / "config.yaml").read_text()
    found = examine_run(begun)
    assert "with another configuration" in found.files["checkpoint.pt"]
    with pytest.raises(ConfigError, match="differs in method"):
        execute(CONFIG, begun)
    assert not (tmp_path / "sprung").exists()


def test_what_cannot_be_read(begun):
    (begun / "checkpoint.pt").unlink()
    (begun / "checkpoint.pt").mkdir()
    assert examine_run(begun).files["checkpoint.pt"] == "cannot be read: Is a directory"
    assert examine_run(begun).verdict == "unfinished; would resume from checkpoint.previous.pt: task 1, after step 5"
    warnings = []
    execute(CONFIG, begun, warn=warnings.append)
    assert warnings == [
        f"{begun / 'checkpoint.pt'} cannot be read: Is a directory; resuming from the previous checkpoint"
    ]


def test_states_that_were_kept_and_an_analysis_are_looked_at_too(tmp_path):
    run = tmp_path / "run"
    execute(CONFIG, run, keep_checkpoints=True)
    (run / "analysis.json").write_text('{"task_ends": []}')
    (run / "checkpoint.task-02.pt").write_bytes(b"x")
    found = examine_run(run)
    assert found.files["checkpoint.task-01.pt"].endswith("MB; after task 1")
    assert found.files["checkpoint.task-02.pt"] == "is damaged: its checksum does not match"
    assert found.files["analysis.json"] == "intact"
    assert found.verdict == "finished"
    (run / "analysis.json").write_text("{}")
    assert examine_run(run).files["analysis.json"].startswith("damaged: ")


def test_states_that_were_kept_are_none_to_go_on_from(begun):
    (begun / "checkpoint.pt").rename(begun / "checkpoint.task-01.pt")
    previous(begun / "checkpoint.pt").unlink()
    assert examine_run(begun).verdict == "unfinished; would restart: no checkpoint has been written"


@pytest.mark.parametrize("finished", [True, False])
def test_a_damaged_part_of_the_log_that_a_checkpoint_knows(begun, finished):
    if finished:
        execute(CONFIG, begun)
    log, content = begun / "log.jsonl", (begun / "log.jsonl").read_bytes()
    assert examine_run(begun).files["log.jsonl"] == f"{len(content.splitlines())} lines"
    at = content.index(b'"tasks": 2')
    log.write_bytes(content[:at] + b'"tasks": 3' + content[at + 10 :])  # one bit; still JSON
    found = examine_run(begun)
    reason = "has changed since the checkpoint was written; the result does not depend on it"
    assert (found.files["log.jsonl"], found.usable) == (f"damaged: {reason}", True)
    log.write_bytes(content[:9])
    assert "damaged: has lost" in examine_run(begun).files["log.jsonl"]
    log.write_bytes(content + b"\xff\n")
    assert f"damaged: line {len(content.splitlines()) + 1} is not JSON" in examine_run(begun).files["log.jsonl"]
    log.write_bytes(content + b"{}\n")  # written after the checkpoint
    assert "damaged" not in examine_run(begun).files["log.jsonl"]
