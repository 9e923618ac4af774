import inspect
import json
from pathlib import Path

import pytest
import torch

from casper.cli.app import main
from casper.cli.options import HowToRun, begun_run, choose_device, makes_many_runs, precision_notes, use_threads
from casper.config import ConfigError, resolve_config
from casper.runs import CheckpointEvery, RunDirectory, execute
from casper.runs.lock import run_lock
from casper.sweeps import LocalLauncher
from casper.training import StepDone


def test_auto_takes_a_gpu_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("auto") == "cuda"
    assert choose_device("cuda:1") == "cuda:1"
    with pytest.raises(ConfigError, match=r"--device cuda:2 .* found 2 GPUs"):
        choose_device("cuda:2")


@pytest.mark.parametrize("name", ["gpu", "", "cuda:", "cuda:x", "CPU", "cuda;rm"])
def test_other_names_are_refused(name):
    with pytest.raises(ConfigError, match="--device should be auto, cpu, cuda or cuda:N"):
        choose_device(name)


def test_threads():
    before = torch.get_num_threads()
    use_threads(None)
    assert torch.get_num_threads() == before
    for threads in (0, -1, 10**12):
        with pytest.raises(ConfigError, match=rf"--threads should be in 1\.\.1024; found {threads}"):
            use_threads(threads)
    use_threads(2)
    assert torch.get_num_threads() == 2
    use_threads(before)


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
    assert "going on in task 2/2, step 3 of 19" in output
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
    assert again.partition("after task")[2].partition("finished before")[0] == shown
    assert "finished before; in run" in again
    assert {file: file.stat().st_mtime_ns for file in Path("run").iterdir()} == before


@pytest.mark.parametrize("content", ["{", "{}", '{"class_il": 3}', '{"class_il": {"accuracy_matrix": [[1]]}}', "[]"])
def test_a_result_that_is_none_is_one_line(content, capsys):
    Path("run/metrics.json").write_text(content)
    assert main(["run", "--resume", "run"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("casper: run/metrics.json should ")
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
    assert captured.err == "casper: run/metrics.json should hold the result of a run; it does not\n"
    assert "\x1b" not in captured.out


def test_threads_device_and_data_are_as_they_were(monkeypatch):
    begun = begun_run(Path("run"), [])
    assert begun.metrics is None
    assert begun.config == CONFIG
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


def test_the_device_is_the_one_it_was_begun_on(monkeypatch):
    monkeypatch.setattr("casper.cli.options.choose_device", lambda name: name)
    directory = RunDirectory(Path("run"))
    directory.write_environment({**directory.read_environment(), "device": "cuda:1"})
    begun = begun_run(Path("run"), [])
    assert begun.as_before("auto", None, None)[0] == "cuda:1"
    assert begun.as_before("cpu", None, None)[0] == "cpu"


def test_other_options_are_refused():
    with pytest.raises(ConfigError, match="found --batch-size as well"):
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
    assert "finished before" in capsys.readouterr().out
    assert Path("run/analysis.json").stat().st_mtime_ns == written


def test_an_analysis_that_is_interrupted_says_how_it_goes_on(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("casper.cli.analyse.analyse_run", interrupted)
    assert main(["run", "--resume", "run", "--analyse"]) == 130
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert complaint.endswith("the run is finished, its analysis is not; go on with: casper analyse run")


FILE = "mine.yaml"


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quick = {"epochs": 1, "backbone": {"width": 4}, "tasks": 2, "regularizer": "none"}
    Path(FILE).write_text(json.dumps(quick))
    Path("bad.yaml").write_text(json.dumps({**quick, "lr": 1e30}))


@pytest.fixture
def launched(monkeypatch):
    """The error by which a run that is launched is known."""

    class LaunchedError(Exception):
        pass

    def launch(*_):
        raise LaunchedError

    monkeypatch.setattr(LocalLauncher, "launch", launch)
    return LaunchedError


def test_a_command_takes_the_shared_options_as_one():
    seen = {}

    @makes_many_runs
    def command(place: str, how: HowToRun, own: int = 3) -> None:
        """Do something."""
        seen.update(place=place, own=own, how=how)

    assert [*inspect.signature(command).parameters] == ["place", "own", *HowToRun.__dataclass_fields__]
    assert command.__doc__ == "Do something."
    values = {name: field.default for name, field in HowToRun.__dataclass_fields__.items()}
    command(place="here", own=4, **{**values, "jobs": 7})
    assert seen == {"place": "here", "own": 4, "how": HowToRun(jobs=7)}


def test_what_cannot_be_read_is_told_and_the_others_are_made(launched, capsys):
    place = Path("out") / resolve_config({"epochs": 1, "backbone.width": 4, "tasks": 2, "regularizer": ["none"]}).name
    place.mkdir(parents=True)
    (place / "letter.txt").touch()
    assert main(["sweep", FILE, "--out", "out", "--dry-run"]) == 0
    captured = capsys.readouterr()
    assert "1 run: 1 failed" in captured.out
    assert captured.err.startswith(f"casper: warning: run directory {place} should be new, empty or a run's; found ")
    assert captured.err.count("\n") == 1
    assert main(["sweep", FILE, "--out", "out"]) == 1


def test_without_an_estimate_no_trial_is_made(launched, monkeypatch, capsys):
    monkeypatch.setattr("casper.cli.options.estimate", lambda *_, **__: pytest.fail("estimated"))
    with pytest.raises(launched):
        main(["sweep", FILE, "--no-estimate", "--jobs", "1"])
    assert "estimated" not in capsys.readouterr().out


def test_the_usual_number_of_jobs_is_that_of_the_cores(monkeypatch, capsys):
    monkeypatch.setattr("casper.cli.options.cores", lambda: 5)
    monkeypatch.setattr("casper.sweeps.launcher.cores", lambda: 5)
    assert main(["sweep", FILE, "--dry-run"]) == 0
    assert "5 at a time, threads of each: 1" in capsys.readouterr().out


def test_a_run_whose_time_cannot_be_tried_is_made_all_the_same(launched, capsys):
    with pytest.raises(launched):
        main(["sweep", "bad.yaml", "--jobs", "1"])
    assert "estimated time: unknown (" in capsys.readouterr().out


def test_a_dry_run_says_what_failed_before_and_what_is_under_way(capsys):
    quick = {"epochs": 1, "backbone.width": 4, "tasks": 2, "regularizer": ["none"]}
    directory = RunDirectory(Path("out") / resolve_config(quick).name)
    directory.write_failure("out of luck")
    assert main(["sweep", FILE, "--out", "out", "--dry-run"]) == 0
    assert f"missing    {directory.path.name}  failed before: out of luck\n" in capsys.readouterr().out
    with run_lock(directory.path):
        assert main(["sweep", FILE, "--out", "out", "--dry-run"]) == 0
    assert f"missing    {directory.path.name}  under way: process " in capsys.readouterr().out
