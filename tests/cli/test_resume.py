"""`casper run --resume`."""

import json
from pathlib import Path

import pytest
import torch

from casper.cli.app import main
from casper.cli.run import begun_run, precision_notes
from casper.config import ConfigError, resolve_config
from casper.runs import CheckpointEvery, RunDirectory, execute
from casper.training import StepDone


@pytest.mark.parametrize(
    ("precision", "device", "capability", "notes"),
    [("bf16", "cpu", "AVX2", 1), ("bf16", "cpu", "AVX512", 0), ("fp32", "cpu", "AVX2", 0), ("bf16", "cuda", "AVX2", 0)],
)
def test_bf16_on_a_cpu_without_it_is_noted(precision, device, capability, notes, monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert len(precision_notes(precision, device)) == notes


CONFIG = resolve_config({"epochs": 1, "backbone.width": 4, "tasks": 2})


class CrashError(Exception):
    pass


@pytest.fixture(autouse=True)
def begun(tmp_path, monkeypatch):
    """A run, crashed in its second task, in the directory `run`."""
    monkeypatch.chdir(tmp_path)

    def crash(event):
        if isinstance(event, StepDone) and event.task == 1 and event.step == 3:
            raise CrashError

    with pytest.raises(CrashError):
        execute(
            CONFIG, Path("run"), listeners=[crash], checkpoint_every=CheckpointEvery.parse("1step"), data_dir="data"
        )


def metrics(path):
    return json.loads((Path(path) / "metrics.json").read_text())


def test_it_goes_on_and_says_where(capsys):
    assert main(["run", "--resume", "run"]) == 0
    output = capsys.readouterr().out
    assert "resuming in task 2/2, step 3 of 19" in output
    assert "task 1/2" not in output
    assert "written to run" in output
    execute(CONFIG, Path("whole"))
    assert {**metrics("run"), "seconds": None} == {**metrics("whole"), "seconds": None}


def test_a_finished_run_is_shown_and_not_touched(capsys):
    assert main(["run", "--resume", "run"]) == 0
    shown = capsys.readouterr().out.partition("after task")[2].partition("written to")[0]
    before = {file: file.stat().st_mtime_ns for file in Path("run").iterdir()}
    assert main(["run", "--resume", "run"]) == 0
    again = capsys.readouterr().out
    assert again.partition("after task")[2].partition("finished earlier")[0] == shown
    assert "finished earlier; results in run" in again
    assert {file: file.stat().st_mtime_ns for file in Path("run").iterdir()} == before


@pytest.mark.parametrize("content", ["{", "{}", '{"class_il": 3}', '{"class_il": {"accuracy_matrix": [[1]]}}', "[]"])
def test_a_result_that_is_none_is_one_line(content, capsys):
    Path("run/metrics.json").write_text(content)
    assert main(["run", "--resume", "run"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("casper: run/metrics.json must ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda result: result.update(steps="[/red]"),
        lambda result: result.update(steps="\x1b]0;x"),
        lambda result: result.update(steps=None),
        lambda result: result.update(latent={}),
        lambda result: result.update(class_il=None),
        lambda result: result["class_il"].update(accuracy_matrix=[[10**400]]),
        lambda result: result["class_il"].update(forgetting="[/red]"),
        lambda result: result["seconds"].pop("train"),
    ],
)
def test_an_odd_result_is_one_line(change, capsys):
    assert main(["run", "--resume", "run"]) == 0
    result = metrics("run")
    change(result)
    Path("run/metrics.json").write_text(json.dumps(result))
    capsys.readouterr()
    assert main(["run", "--resume", "run"]) == 2
    captured = capsys.readouterr()
    assert captured.err == "casper: run/metrics.json is not the result of a run\n"
    assert "\x1b" not in captured.out


def test_threads_device_and_data_are_as_they_were(monkeypatch):
    begun = begun_run(Path("run"), [])
    assert begun.metrics is None
    data = str(Path("data").absolute())
    assert begun.as_before("auto", None, None) == ("cpu", 1, data)
    assert begun.as_before("cuda:1", 3, "other") == ("cuda:1", 3, "other")
    used = []
    monkeypatch.setattr("casper.cli.run.use_threads", used.append)
    RunDirectory(Path("run")).write_environment({**begun.environment, "threads": 2})
    assert main(["run", "--resume", "run"]) == 0
    assert used == [2]


@pytest.mark.parametrize(
    "content", ["{", '{"threads": "many", "device": 3, "data_dir": []}', '{"threads": 99999, "device": "cuda:77"}']
)
def test_an_environment_that_cannot_be_read_is_done_without(content):
    Path("run/environment.json").write_text(content)
    assert begun_run(Path("run"), []).as_before("auto", None, None) == ("auto", None, None)


@pytest.mark.parametrize("finished", [True, False])
def test_what_a_damaged_environment_has_lost_is_told_once(finished, capsys):
    if finished:
        assert main(["run", "--resume", "run"]) == 0
    Path("run/environment.json").write_text('{"threads": "many", "device": "cpu", "analyse": false}')
    capsys.readouterr()
    assert main(["run", "--resume", "run"]) == 0
    lost = "--threads, --data-dir, --keep-checkpoints; give those that the run had"
    told = [line for line in capsys.readouterr().err.splitlines() if "environment.json" in line]
    assert told == [f"casper: warning: run/environment.json is damaged; lost: {lost}"]


def test_the_device_is_the_one_it_was_begun_on(monkeypatch):
    monkeypatch.setattr("casper.cli.run.choose_device", lambda name: name)
    directory = RunDirectory(Path("run"))
    directory.write_environment({**directory.read_environment(), "device": "cuda:1"})
    begun = begun_run(Path("run"), [])
    assert begun.as_before("auto", None, None)[0] == "cuda:1"
    assert begun.as_before("cpu", None, None)[0] == "cpu"


def test_other_options_are_refused():
    with pytest.raises(ConfigError, match="so --batch-size must not be given"):
        begun_run(Path("run"), ["batch_size"])


@pytest.mark.parametrize("wish", ["analyse", "keep_checkpoints"])
def test_what_was_asked_for_is_remembered(wish):
    def crash(event):
        if isinstance(event, StepDone) and event.task == 1:
            raise CrashError

    with pytest.raises(CrashError):
        execute(CONFIG, Path("asked"), listeners=[crash], **{wish: True})
    assert main(["run", "--resume", "asked"]) == 0
    assert Path("asked/analysis.json").exists() == (wish == "analyse")
    assert len(list(Path("asked").glob("checkpoint.task*"))) == (2 if wish == "keep_checkpoints" else 0)


def test_states_that_were_kept_on_purpose_stay_when_it_is_analysed_later():
    assert main(["run", "--resume", "run", "--keep-checkpoints"]) == 0
    assert main(["run", "--resume", "run", "--analyse"]) == 0
    assert Path("run/analysis.json").exists()
    assert [file.name for file in Path("run").glob("checkpoint.task*")] == ["checkpoint.task-02.pt"]


def test_a_finished_run_is_analysed_if_it_has_not_been(capsys):
    assert main(["run", "--resume", "run"]) == 0
    assert not Path("run/analysis.json").exists()
    assert main(["run", "--resume", "run", "--analyse"]) == 0
    written = Path("run/analysis.json").stat().st_mtime_ns
    capsys.readouterr()
    assert main(["run", "--resume", "run", "--analyse"]) == 0
    assert "finished earlier" in capsys.readouterr().out
    assert Path("run/analysis.json").stat().st_mtime_ns == written


def test_an_analysis_that_is_interrupted_says_how_it_goes_on(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("casper.runs.analyse.analyse_run", interrupted)
    assert main(["run", "--resume", "run", "--analyse"]) == 130
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert complaint.endswith("the run is finished, its analysis is not; continue with: casper analyse run")


def test_a_finished_run_is_shown_without_importing_the_users_module(capsys):
    assert main(["run", "--resume", "run"]) == 0
    Path("trap.py").write_text("raise SystemExit('imported')")
    text = Path("run/config.yaml").read_text()
    Path("run/config.yaml").write_text(text.replace("method: er-ace", "method: trap:Method", 1))
    capsys.readouterr()
    assert main(["run", "--resume", "run"]) == 0
    assert "finished earlier; results in run" in capsys.readouterr().out
