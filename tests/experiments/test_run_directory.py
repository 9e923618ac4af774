import json

import pytest
import torch
import yaml

from casper.experiments import ConfigError, RunDirectory, describe_environment, resolve_config
from casper.training import RunStarted, StepDone, TaskDone, TaskStarted

CONFIG = resolve_config({"seed": 2})


def lines(path):
    return [json.loads(line) for line in (path / "log.jsonl").read_text().splitlines()]


def test_config_holds_every_value_and_its_origin(tmp_path):
    RunDirectory(tmp_path / "run").create(CONFIG, {})
    layout = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    origin = layout.pop("origin")
    assert layout == CONFIG.as_dict()
    assert origin["seed"] == "user"


@pytest.mark.parametrize(("finished", "state"), [(False, "an unfinished run"), (True, "a finished run")])
def test_a_run_that_is_there_is_refused_unless_overwritten(tmp_path, finished, state):
    directory = RunDirectory(tmp_path)
    directory.create(CONFIG, {})
    (tmp_path / "notes.txt").write_text("mine")
    if finished:
        directory.finish({"steps": 1, "seconds": {}})
    with pytest.raises(ConfigError, match=f"holds {state}"):
        RunDirectory(tmp_path).create(CONFIG, {})
    assert (tmp_path / "metrics.json").exists() == finished
    RunDirectory(tmp_path).create(CONFIG, {}, overwrite=True)
    assert not (tmp_path / "metrics.json").exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_directory_that_is_no_run_is_never_touched(tmp_path):
    (tmp_path / "precious.txt").write_text("x")
    for overwrite in (False, True):
        with pytest.raises(ConfigError, match="found other files in it"):
            RunDirectory(tmp_path).create(CONFIG, {}, overwrite=overwrite)
    assert [file.name for file in tmp_path.iterdir()] == ["precious.txt"]


def test_a_path_that_cannot_be_a_directory_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="should be a directory; found a file"):
        RunDirectory(tmp_path / "file").create(CONFIG, {})
    with pytest.raises(ConfigError, match="cannot be written"):
        RunDirectory(tmp_path / "file" / "below").create(CONFIG, {})


def test_log_holds_mean_losses_per_interval_and_accuracies_per_task(tmp_path):
    directory = RunDirectory(tmp_path)
    directory.create(CONFIG, {})
    directory.listen(RunStarted(1, ("cat", "dog"), "about"))
    directory.listen(TaskStarted(0, 1, 0, 1, images=60, epochs=1, steps_per_epoch=60))
    for step in range(60):
        directory.listen(StepDone(0, 0, 0, step, {"stream": torch.tensor(float(step))}))
    directory.listen(TaskDone(0, 0, {0: {"class_il": 90.0}}, {"class_il": 90.0}, None, 20, 1.5, 0.5, {"swaps": 3}))
    directory.finish({"steps": 60, "seconds": {"train": 1.5}})
    run, started, first, second, done, finished = lines(tmp_path)
    assert run == {"event": "run started", "tasks": 1, "classes": ["cat", "dog"]}
    assert started == {"event": "task started", "task": 0, "images": 60, "steps": 60}
    assert (first["steps"], first["terms"]["stream"]) == (50, 24.5)
    assert (second["steps"], second["terms"]["stream"]) == (10, 54.5)
    assert done["accuracies"] == {"0": {"class_il": 90.0}}
    assert (done["memory"], done["diagnostics"]) == (20, {"swaps": 3})
    assert (done["train_seconds"], done["evaluate_seconds"]) == (1.5, 0.5)
    assert finished["event"] == "finished"


def test_environment_tells_versions_and_threads():
    environment = describe_environment("cpu")
    assert environment["torch"] == torch.__version__
    assert environment["threads"] == torch.get_num_threads()
    json.dumps(environment)
