import json

import pytest
import yaml

from casper.experiments import ConfigError, build_trainer, execute, flattened, resolve_config
from casper.training import load_checkpoint

QUICK = {"epochs": 1, "backbone.width": 4, "tasks": 2}


def read(path):
    return json.loads((path / "metrics.json").read_text())


def test_a_run_writes_its_directory(tmp_path):
    metrics = execute(resolve_config(QUICK), tmp_path / "run")
    files = {file.name for file in (tmp_path / "run").iterdir()}
    assert files == {
        "config.yaml",
        "environment.json",
        "log.jsonl",
        "checkpoint.pt",
        "checkpoint.previous.pt",
        "metrics.json",
    }
    assert read(tmp_path / "run") == metrics
    assert set(metrics) == {"class_il", "task_il", "domain_il", "recalibrated", "latent", "seconds", "steps"}
    assert metrics["seconds"]["total"] == pytest.approx(metrics["seconds"]["train"] + metrics["seconds"]["evaluate"])


def test_the_written_configuration_repeats_the_run_bit_for_bit(tmp_path):
    given = {**QUICK, "recalibrate": True, "casper.weight": 0.5}
    first = execute(resolve_config(given), tmp_path / "first")
    layout = yaml.safe_load((tmp_path / "first" / "config.yaml").read_text())
    second = execute(resolve_config({}, flattened(layout)), tmp_path / "second")
    assert {**first, "seconds": None} == {**second, "seconds": None}
    weights = [load_checkpoint(tmp_path / name / "checkpoint.pt")["net"] for name in ("first", "second")]
    assert all((weights[0][name] == weights[1][name]).all() for name in weights[0])


def test_the_last_checkpoint_is_the_end_of_the_run(tmp_path):
    config = resolve_config(QUICK)
    metrics = execute(config, tmp_path / "run")
    trainer = build_trainer(config)
    trainer.load_state_dict(load_checkpoint(tmp_path / "run" / "checkpoint.pt"))
    assert trainer.finished_phases == 2
    measured = ("latent", "seconds")  # after the last checkpoint
    assert {**trainer.metrics(), **dict.fromkeys(measured)} == {**metrics, **dict.fromkeys(measured)}
    assert trainer.run()["latent"] == metrics["latent"]


def test_nothing_is_written_if_the_run_cannot_start(tmp_path):
    with pytest.raises(ConfigError):
        execute(resolve_config({"casper.num_classes": 0}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_listeners_are_told(tmp_path):
    events = []
    execute(resolve_config(QUICK), tmp_path / "run", listeners=[events.append])
    assert len(events) > 10


def test_an_occupied_directory_is_refused_before_anything_is_built(tmp_path, monkeypatch):
    execute(resolve_config(QUICK), tmp_path / "run")
    monkeypatch.setattr("casper.experiments.execution.build_trainer", lambda *_, **__: pytest.fail("built"))
    with pytest.raises(ConfigError, match="holds a finished run"):
        execute(resolve_config(QUICK), tmp_path / "run")
