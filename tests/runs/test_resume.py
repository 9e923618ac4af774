import json
import sys
from importlib import reload

import numpy
import pytest

from casper.config import ConfigError, resolve_config
from casper.runs import (
    CheckpointEvery,
    RunDirectory,
    execute,
)
from casper.training import SetTested, StepDone, TaskDone, load_checkpoint, previous
from crashing import (
    EVERY_STEP,
    QUICK,
    CrashError,
    assert_refused_and_untouched,
    assert_same_run,
    crashed,
    without_times,
)


@pytest.mark.parametrize("every", ["1step", "7steps", "0s", "task", "never"])
@pytest.mark.parametrize(
    ("kind", "number"), [(SetTested, 1), (StepDone, 1), (StepDone, 30), (SetTested, 4), (TaskDone, 1)]
)
def test_a_run_that_crashed_goes_on_to_the_same_bits(tmp_path, every, kind, number):
    config = resolve_config({**QUICK, "recalibrate": True})
    execute(config, tmp_path / "whole")
    crashed(config, tmp_path / "run", kind, number, checkpoint_every=CheckpointEvery.parse(every))
    execute(config, tmp_path / "run")
    assert_same_run(tmp_path / "whole", tmp_path / "run")


def test_a_crash_after_the_last_state_and_before_the_result(tmp_path, monkeypatch):
    config = resolve_config(QUICK)
    execute(config, tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(RunDirectory, "finish", lambda *_: (_ for _ in ()).throw(CrashError))
        with pytest.raises(CrashError):
            execute(config, tmp_path / "run")
    assert RunDirectory(tmp_path / "run").state() == "unfinished"
    monkeypatch.setattr("casper.training.evaluation.latent_summary", lambda *_: pytest.fail("measured again"))
    execute(config, tmp_path / "run")
    assert_same_run(tmp_path / "whole", tmp_path / "run")


def test_overwriting_begins_anew(tmp_path):
    config = resolve_config(QUICK)
    crashed(config, tmp_path / "run", checkpoint_every=EVERY_STEP)
    events = []
    execute(config, tmp_path / "run", overwrite=True, listeners=[events.append])
    assert not events[0].resumed
    execute(resolve_config({**QUICK, "seed": 1}), tmp_path / "run", overwrite=True)
    assert RunDirectory(tmp_path / "run").read_config().options.seed == 1


def test_a_damaged_checkpoint_costs_one_warning_and_no_bit(tmp_path):
    config, run, warnings = resolve_config(QUICK), tmp_path / "run", []
    execute(config, tmp_path / "whole")
    crashed(config, run, checkpoint_every=EVERY_STEP)
    (run / "checkpoint.pt").write_bytes((run / "checkpoint.pt").read_bytes()[:-100])
    execute(config, run, warn=warnings.append)
    assert len(warnings) == 1
    assert "checkpoint.pt is damaged" in warnings[0]
    assert_same_run(tmp_path / "whole", run)


def test_a_crash_right_after_a_damaged_checkpoint_loses_nothing_more(tmp_path):
    config, run = resolve_config(QUICK), tmp_path / "run"
    crashed(config, run, checkpoint_every=EVERY_STEP)
    (run / "checkpoint.pt").write_bytes(b"")
    good = previous(run / "checkpoint.pt").read_bytes()
    crashed(config, run, number=1, warn=lambda _: None)
    assert (run / "checkpoint.pt").read_bytes() == good
    assert (run / "checkpoint.damaged.pt").read_bytes() == b""


def test_if_both_checkpoints_are_damaged_nothing_is_overwritten(tmp_path):
    config, run = resolve_config(QUICK), tmp_path / "run"
    crashed(config, run, checkpoint_every=EVERY_STEP)
    for file in (run / "checkpoint.pt", previous(run / "checkpoint.pt")):
        file.write_bytes(file.read_bytes()[1:])
    assert_refused_and_untouched(config, run, "restart the run with --overwrite")


def test_a_state_that_does_not_fit_is_said(tmp_path):
    config, run = resolve_config(QUICK), tmp_path / "run"
    crashed(config, run, checkpoint_every=EVERY_STEP)
    state = load_checkpoint(run / "checkpoint.pt")
    del state["trainer"]["memory"]
    directory = RunDirectory(run)
    directory.write_checkpoint(config, state)
    assert_refused_and_untouched(config, run, "does not fit this version of casper: it must have memory")


def test_a_damaged_state_is_put_aside_only_if_the_one_before_can_go_on(tmp_path):
    config, run = resolve_config(QUICK), tmp_path / "run"
    crashed(config, run, checkpoint_every=EVERY_STEP)
    state = load_checkpoint(run / "checkpoint.pt")
    del state["trainer"]["memory"]
    for _ in range(2):
        RunDirectory(run).write_checkpoint(config, state)
    (run / "checkpoint.pt").write_bytes(b"damaged")
    assert_refused_and_untouched(config, run, "does not fit this version of casper")


def test_other_threads_are_said_and_every_start_is_kept(tmp_path):
    config, run, warnings = resolve_config(QUICK), tmp_path / "run", []
    crashed(config, run, checkpoint_every=EVERY_STEP)
    directory = RunDirectory(run)
    directory.write_environment({**directory.read_environment(), "threads": 64})
    crashed(config, run, number=1, warn=warnings.append)
    assert warnings == [
        "the environment has changed: threads 64 then, 1 now; the last digits of the result may differ",
    ]
    execute(config, run, warn=lambda _: None)
    environment = directory.read_environment()
    assert (environment["threads"], [again["threads"] for again in environment["resumed"]]) == (64, [1, 1])


@pytest.mark.parametrize(("kind", "number"), [(SetTested, 1), (StepDone, 3), (SetTested, 3), (TaskDone, 1)])
def test_other_images_under_the_same_name_are_refused(tmp_path, kind, number):
    images = numpy.random.default_rng(0).integers(0, 256, (40, 8, 8), dtype=numpy.uint8)
    arrays = {"x_train": images, "y_train": numpy.arange(40) % 4, "x_test": images, "y_test": numpy.arange(40) % 4}
    numpy.savez(tmp_path / "own.npz", **arrays)
    settings = {**QUICK, "stream": f"npz:{tmp_path / 'own.npz'}", "batch_size": 8, "regularizer": []}
    config, run = resolve_config(settings), tmp_path / "run"
    crashed(config, run, kind, number, checkpoint_every=CheckpointEvery.parse("0s"))
    arrays["x_test"] = images ^ (arrays["y_test"] == 3)[:, None, None]  # of the second task alone
    numpy.savez(tmp_path / "own.npz", **arrays)
    assert_refused_and_untouched(config, run, "--stream must be the one the run began with, but got other images")


def test_without_a_checkpoint_it_begins_anew_and_keeps_its_configuration(tmp_path):
    config, run = resolve_config({**QUICK, "seed": 5}), tmp_path / "run"
    crashed(config, run, checkpoint_every=CheckpointEvery.parse("never"))
    written = (run / "config.yaml").read_bytes()
    execute(RunDirectory(run).read_config(), run)
    assert (run / "config.yaml").read_bytes() == written  # with the origin of every value
    assert [line["event"] for line in without_times(run)].count("run started") == 1


def test_an_environment_that_is_gone_is_said(tmp_path):
    config, run, warnings = resolve_config(QUICK), tmp_path / "run", []
    crashed(config, run, checkpoint_every=EVERY_STEP)
    (run / "environment.json").unlink()
    execute(config, run, warn=warnings.append)
    lost = "--device, --threads, --data-dir, --keep-checkpoints, --analyse; give those that the run had"
    assert warnings == [f"{run / 'environment.json'} is missing; lost: {lost}"]
    assert RunDirectory(run).lost_options() == ""


@pytest.mark.parametrize("every", ["never", "5steps"])
def test_the_directory_remembers_which_checkpoints_to_keep(tmp_path, every):
    config, run = resolve_config(QUICK), tmp_path / "run"
    crashed(config, run, checkpoint_every=CheckpointEvery.parse(every), keep_checkpoints=True)
    execute(config, run)
    assert RunDirectory(run).read_environment()["keep_checkpoints"] is True
    assert len(list(run.glob("checkpoint.task-*.pt"))) == 2


@pytest.mark.filterwarnings("ignore:.*is damaged; lost")
@pytest.mark.parametrize("resumed", [5, "x", None, {"a": 1}])
def test_an_odd_environment_does_no_harm(tmp_path, resumed):
    config, run = resolve_config(QUICK), tmp_path / "run"
    crashed(config, run, checkpoint_every=EVERY_STEP)
    (run / "environment.json").write_text(json.dumps({"resumed": resumed}))
    execute(config, run)
    assert len(RunDirectory(run).read_environment()["resumed"]) == 1


def test_lines_that_have_changed_are_said(tmp_path):
    config, run, warnings = resolve_config(QUICK), tmp_path / "run", []
    crashed(config, run, checkpoint_every=EVERY_STEP)
    content = (run / "log.jsonl").read_bytes()
    (run / "log.jsonl").write_bytes(content.replace(b"run started", b"run stopped"))
    execute(config, run, warn=warnings.append)
    assert warnings == [f"{run / 'log.jsonl'} has changed since the checkpoint was written"]
    assert (run / "log.jsonl").read_bytes().startswith(b'{"event": "run stopped"')


def test_lines_that_the_log_has_lost_are_said(tmp_path):
    config, run, warnings = resolve_config(QUICK), tmp_path / "run", []
    crashed(config, run, checkpoint_every=EVERY_STEP)
    size = load_checkpoint(run / "checkpoint.pt")["log"]["size"]
    (run / "log.jsonl").unlink()
    execute(config, run, warn=warnings.append)
    assert warnings == [f"{run / 'log.jsonl'} has lost {size} bytes since the checkpoint was written"]


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state["trainer"].update(optimizer=5),
        lambda state: state["trainer"].update(position={"phase": "x"}),
        lambda state: state["trainer"]["position"].update(stage="gone"),
        lambda state: state["trainer"]["position"].update(step=-1),
        lambda state: state["trainer"].update(record=None),
        lambda state: state["trainer"].update(regularizers=[]),
        lambda state: state["trainer"]["generators"].pop("order"),
        lambda state: state.update(log={"size": 3}),
        lambda state: state.update(trainer=None),
    ],
)
def test_a_whole_state_that_makes_no_sense_is_one_line(tmp_path, change):
    config, run = resolve_config(QUICK), tmp_path / "run"
    crashed(config, run, checkpoint_every=EVERY_STEP)
    state = load_checkpoint(run / "checkpoint.pt")
    change(state)
    RunDirectory(run).write_checkpoint(config, state)
    with pytest.raises(ConfigError, match="does not fit this version of casper"):
        execute(config, run)


def test_a_result_names_every_version_of_the_code_that_took_part(tmp_path, monkeypatch):
    def use(version):
        monkeypatch.setattr("casper.runs.execution.code_version", lambda: version)

    config, run = resolve_config(QUICK), tmp_path / "run"
    use("1 old")
    crashed(config, run, number=5, checkpoint_every=EVERY_STEP)
    crashed(config, run, number=5, checkpoint_every=EVERY_STEP)
    use("2 new")
    # What is on the disk when a run ends need not be what it was made with.
    assert execute(config, run, listeners=[lambda _: use("3 edited meanwhile")])["code"] == "1 old, 2 new"


def test_code_that_gives_the_same_results_is_no_other_version(tmp_path, monkeypatch):
    def use(version):
        monkeypatch.setattr("casper.runs.execution.code_version", lambda: version)

    config, run = resolve_config(QUICK), tmp_path / "run"
    use("0.1.0 7d4e3fc5a3")
    crashed(config, run, number=5, checkpoint_every=EVERY_STEP)
    use("0.1.0 9c2cf5ff47")
    crashed(config, run, number=5, checkpoint_every=EVERY_STEP)
    assert execute(config, run)["code"] == "0.1.0 7d4e3fc5a3"


OWN = """
from casper import ERACE

class Mine(ERACE):
    rate = {rate}
"""


def test_a_run_that_goes_on_with_other_code_of_the_user_says_so_and_records_both(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    source = tmp_path / "resumed_own.py"
    source.write_text(OWN.format(rate=1))
    config = resolve_config({**QUICK, "method": "resumed_own:Mine"})
    crashed(config, tmp_path / "run", StepDone, 3, checkpoint_every=EVERY_STEP)
    warnings = []
    crashed(config, tmp_path / "run", StepDone, 3, checkpoint_every=EVERY_STEP, warn=warnings.append)
    assert warnings == []
    first = json.loads((tmp_path / "run/environment.json").read_text())["user_code"]["resumed_own:Mine"]
    assert first["name"] == "Mine"
    source.write_text(OWN.format(rate=2))
    reload(sys.modules["resumed_own"])
    crashed(config, tmp_path / "run", StepDone, 3, checkpoint_every=EVERY_STEP, warn=warnings.append)
    (warning,) = warnings
    assert warning.startswith("the code of resumed_own:Mine has changed since the run was stopped; ")
    metrics = execute(config, tmp_path / "run", warn=warnings.append)  # the same code as before
    assert len(warnings) == 1
    earlier, later = metrics["user_code"]["resumed_own:Mine"]["digest"].split(", ")
    assert earlier == first["digest"] != later


def test_a_run_that_begins_again_has_the_present_code_of_the_user_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "restarted_own.py"
    source.write_text(OWN.format(rate=1))
    config = resolve_config({**QUICK, "method": "restarted_own:Mine"})
    crashed(config, tmp_path / "run", StepDone, 3, checkpoint_every=CheckpointEvery.parse("never"))
    source.write_text(OWN.format(rate=2))
    metrics = execute(config, tmp_path / "run")
    assert metrics["user_code"] == json.loads((tmp_path / "run/environment.json").read_text())["user_code"]
    assert "," not in metrics["user_code"]["restarted_own:Mine"]["digest"]
