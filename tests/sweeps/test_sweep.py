import json
import signal
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from casper.config import resolve_config, to_yaml
from casper.runs import CheckpointEvery, Interruption, RunDirectory, RunInterrupted
from casper.runs.code_version import code_version
from casper.runs.lock import run_lock
from casper.sweeps import LaunchedRun, Launcher, Outcome, Sweep, SweepRun, estimate, expand
from casper.sweeps import sweep as sweep_module

CONFIGS = expand({"epochs": 1, "grid": {"seed": [0, 1, 2, 3, 4]}})
METRICS = {
    "class_il": {"final_average_accuracy": 50.0},
    "domain_il": None,
    "latent": {},
    "seconds": {"total": 1.5},
    "steps": 3,
}
DONE, STOPPED, BUSY = Outcome("done"), Outcome("stopped", "stopped: task 1"), Outcome("busy", "in use by process 7")
PATIENCE = 0.05


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch):
    monkeypatch.setattr(sweep_module, "_TICK", 0.001)
    monkeypatch.setattr(sweep_module, "_PATIENCE", PATIENCE)


def begin(config, path):
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.yaml").write_text(to_yaml(config.as_dict()))


def finish(config, path):
    """Leave what a finished run must have, and nothing else."""
    begin(config, path)
    (path / "metrics.json").write_text(json.dumps(METRICS))


class FakeRun(LaunchedRun):
    def __init__(self, launcher, job, slot, outcome, polls):
        self.launcher, self.job, self.slot = launcher, job, slot
        self.planned, self.polls, self.stops = outcome, polls, 0

    def outcome(self):
        self.polls -= 1
        if self.polls > 0:
            return None
        assert self in self.launcher.alive, "asked again after its end"
        self.launcher.alive.remove(self)
        if self.planned.kind == "done":
            finish(self.job.config, self.job.directory)
        return self.planned

    def stop(self):
        self.stops += 1


class FakeLauncher(Launcher):
    """Runs that end after a few looks, as they are told to."""

    def __init__(self, slots=2, outcomes=None, polls=3, run=FakeRun):
        self.slots, self.outcomes, self.polls, self.run = slots, dict(outcomes or {}), polls, run
        self.alive, self.launched, self.most = [], [], 0

    def launch(self, job, slot):
        assert 0 <= slot < self.slots
        assert slot not in [run.slot for run in self.alive]
        seed = job.config.options.seed
        planned = self.outcomes.get(seed, DONE)
        if isinstance(planned, list):  # one after the other
            planned = planned.pop(0)
        polls = self.polls + seed % 3
        run = self.run(self, job, slot, planned, polls)
        self.alive.append(run)
        self.launched.append(run)
        self.most = max(self.most, len(self.alive))
        return run

    @property
    def seeds(self):
        return [run.job.config.options.seed for run in self.launched]


class UntilStopped(FakeRun):
    """Goes on for ever, and some looks longer once it was asked to stop."""

    def __init__(self, launcher, job, slot, outcome, polls):
        super().__init__(launcher, job, slot, STOPPED, 10)

    def outcome(self):
        return super().outcome() if self.stops else None


def states(sweep):
    return [run.state for run in sweep.runs]


def contents(path):
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.iterdir()}


@pytest.mark.parametrize("slots", [1, 2, 3, 9])
def test_all_runs_are_made_and_never_more_than_the_slots_at_once(tmp_path, slots):
    sweep, launcher = Sweep(CONFIGS, tmp_path / "out"), FakeLauncher(slots)
    assert states(sweep) == ["missing"] * 5
    sweep.run(launcher)
    assert states(sweep) == ["done"] * 5
    assert launcher.seeds == [0, 1, 2, 3, 4]
    assert launcher.most == min(slots, 5)
    assert not launcher.alive
    assert [run.metrics for run in sweep.runs] == [METRICS] * 5
    assert not any(run.earlier for run in sweep.runs)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {config.name for config in CONFIGS}


def test_a_run_is_launched_with_everything_it_needs(tmp_path):
    every = CheckpointEvery.parse("7steps")
    sweep, launcher = Sweep(CONFIGS[:1], tmp_path, data_dir="images", checkpoint_every=every), FakeLauncher()
    sweep.run(launcher)
    assert (launcher.launched[0].job.keep_checkpoints, launcher.launched[0].job.analyse) == (False, False)
    (run,) = launcher.launched
    assert (run.job.config, run.job.directory) == (CONFIGS[0], tmp_path / CONFIGS[0].name)
    assert (run.job.data_dir, run.job.checkpoint_every) == ("images", every)


def test_a_run_that_is_to_be_analysed_is_done_when_it_is(tmp_path):
    for config in CONFIGS:
        finish(config, tmp_path / config.name)
    (tmp_path / CONFIGS[2].name / "analysis.json").write_text("{}")
    sweep, launcher = Sweep(CONFIGS, tmp_path, analyse=True, keep_checkpoints=True), FakeLauncher()
    assert states(sweep) == ["unfinished", "unfinished", "done", "unfinished", "unfinished"]
    sweep.run(launcher)
    assert sorted(launcher.seeds) == [0, 1, 3, 4]
    assert all(run.job.analyse and run.job.keep_checkpoints for run in launcher.launched)
    assert states(Sweep(CONFIGS, tmp_path)) == ["done"] * 5


def test_looking_and_a_sweep_without_runs_left_write_nothing(tmp_path):
    Sweep(CONFIGS, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_finished_runs_are_known_by_configuration_and_result_alone_and_never_launched(tmp_path):
    for number in (0, 3):
        finish(CONFIGS[number], tmp_path / CONFIGS[number].name)
    before = [contents(tmp_path / CONFIGS[number].name) for number in (0, 3)]
    sweep, launcher, told = Sweep(CONFIGS, tmp_path), FakeLauncher(), []
    assert states(sweep) == ["done", "missing", "missing", "done", "missing"]
    assert [run.earlier for run in sweep.runs] == [True, False, False, True, False]
    assert sweep.runs[3].metrics == METRICS
    sweep.run(launcher, told.append)
    assert launcher.seeds == [1, 2, 4]
    assert states(sweep) == ["done"] * 5
    assert sweep.runs[0] not in told
    assert [contents(tmp_path / CONFIGS[number].name) for number in (0, 3)] == before
    again = FakeLauncher()
    Sweep(CONFIGS, tmp_path).run(again)
    assert again.seeds == []


def test_another_sweep_that_shares_runs_makes_the_others(tmp_path):
    Sweep(CONFIGS[:3], tmp_path).run(FakeLauncher())
    launcher = FakeLauncher()
    Sweep([CONFIGS[4], *CONFIGS[1:3]], tmp_path).run(launcher)
    assert launcher.seeds == [4]


def test_unfinished_runs_are_launched_again(tmp_path):
    begin(CONFIGS[1], tmp_path / CONFIGS[1].name)
    left_behind = tmp_path / CONFIGS[2].name
    left_behind.mkdir()
    for name in (".lock", ".owner", "config.yaml.tmp", "failure.json.tmp", "failure.json"):
        (left_behind / name).touch()
    sweep, launcher = Sweep(CONFIGS[:3], tmp_path), FakeLauncher()
    assert states(sweep) == ["missing", "unfinished", "missing"]
    assert sweep.having("unfinished", "done") == [sweep.runs[1]]
    sweep.run(launcher)
    assert launcher.seeds == [0, 1, 2]
    assert states(sweep) == ["done"] * 3


def test_a_failed_run_is_recorded_with_its_reason_and_the_others_go_on(tmp_path):
    reason, told = "the loss is not finite in task 1", []
    sweep = Sweep(CONFIGS, tmp_path)
    sweep.run(FakeLauncher(outcomes={0: Outcome("failed", reason)}), lambda run: told.append((run.state, run.reason)))
    assert states(sweep) == ["failed", "done", "done", "done", "done"]
    assert sweep.runs[0].reason == reason
    failed = tmp_path / CONFIGS[0].name
    assert json.loads((failed / "failure.json").read_text()) == {"reason": reason, "code": code_version()}
    assert {file.name for file in failed.iterdir()} == {"failure.json"}
    assert len(list(tmp_path.glob("*/metrics.json"))) == 4
    assert len(list(tmp_path.glob("*/failure.json"))) == 1
    assert ("failed", reason) in told


def test_a_failed_run_is_started_again_by_the_next_sweep_and_its_failure_is_gone_then(tmp_path):
    Sweep(CONFIGS[:2], tmp_path).run(FakeLauncher(outcomes={1: Outcome("failed", "no memory")}))
    record = tmp_path / CONFIGS[1].name / "failure.json"
    assert record.exists()
    seen = []

    class Looking(FakeLauncher):
        def launch(self, job, slot):
            seen.append((job.config.options.seed, record.exists()))
            return super().launch(job, slot)

    sweep = Sweep(CONFIGS[:2], tmp_path)
    assert states(sweep) == ["done", "missing"]
    assert record.exists()  # looking changes nothing
    sweep.run(Looking())
    assert seen == [(1, False)]
    assert states(sweep) == ["done", "done"]
    assert not record.exists()


def test_what_a_failed_run_has_learnt_is_kept(tmp_path):
    path = tmp_path / CONFIGS[0].name
    begin(CONFIGS[0], path)
    Sweep(CONFIGS[:1], tmp_path).run(FakeLauncher(outcomes={0: Outcome("failed", "why")}))
    assert {file.name for file in path.iterdir()} == {"config.yaml", "failure.json"}
    assert states(Sweep(CONFIGS[:1], tmp_path)) == ["unfinished"]


def test_a_run_whose_result_is_there_is_done_however_its_process_ended(tmp_path):
    class KilledAtTheEnd(FakeRun):
        def outcome(self):
            finish(self.job.config, self.job.directory)
            return super().outcome()

    sweep = Sweep(CONFIGS[:1], tmp_path)
    sweep.run(FakeLauncher(outcomes={0: Outcome("failed", "ended by SIGKILL")}, run=KilledAtTheEnd))
    assert states(sweep) == ["done"]
    assert not (tmp_path / CONFIGS[0].name / "failure.json").exists()


def test_whether_a_run_is_done_is_seen_from_its_files(tmp_path):
    class Lying(FakeRun):
        def outcome(self):
            return super().outcome() and DONE

    sweep = Sweep(CONFIGS[:1], tmp_path)
    sweep.run(FakeLauncher(outcomes={0: Outcome("failed")}, run=Lying))
    assert states(sweep) == ["failed"]
    assert sweep.runs[0].reason == "its process ended without a result"


def test_a_run_that_somebody_else_is_making_is_looked_at_later_and_the_others_go_on(tmp_path):
    times, told = [], []

    class Watching(FakeLauncher):
        def launch(self, job, slot):
            if job.config.options.seed == 0:
                times.append(time.monotonic())
            return super().launch(job, slot)

    launcher = Watching(1, outcomes={0: [BUSY, BUSY, DONE]}, polls=1)
    sweep = Sweep(CONFIGS, tmp_path)
    sweep.run(launcher, lambda run: told.append((run.config.options.seed, run.state, run.reason)))
    assert launcher.seeds[:5] == [0, 1, 2, 3, 4]  # its slot is free meanwhile
    assert launcher.seeds[5:] == [0, 0]
    assert all(late - early >= PATIENCE for early, late in pairwise(times))
    assert states(sweep) == ["done"] * 5
    assert (0, "elsewhere", "in use by process 7") in told
    assert told[-1] == (0, "done", "")
    assert not list(tmp_path.glob("*/failure.json"))


def test_a_run_that_somebody_else_has_finished_is_done_and_not_touched(tmp_path):
    path = tmp_path / CONFIGS[0].name

    class Other(FakeLauncher):
        """Somebody else finishes the run while this sweep waits for it."""

        def launch(self, job, slot):
            if self.launched:
                assert (path / "metrics.json").exists()
            return super().launch(job, slot)

    class SeenDone(FakeRun):
        def outcome(self):
            ended = super().outcome() if self.planned is BUSY else DONE
            if ended is BUSY:
                finish(CONFIGS[0], path)
                (path / "metrics.json").write_text(json.dumps({**METRICS, "steps": 77}))
            return ended

    sweep = Sweep(CONFIGS[:1], tmp_path)
    sweep.run(Other(outcomes={0: [BUSY, DONE]}, run=SeenDone))
    assert states(sweep) == ["done"]
    assert sweep.runs[0].metrics["steps"] == 77


def test_while_somebody_else_holds_a_run_no_process_is_started_for_it(tmp_path, whenever_it_waits):
    place, told = tmp_path / CONFIGS[0].name, []
    begin(CONFIGS[0], place)
    waits = iter(range(1000))

    def wait():
        time.sleep(0.001)
        if next(waits) == 300:
            finish(CONFIGS[0], place)
            held.__exit__(None, None, None)

    sweep, launcher = Sweep(CONFIGS[:1], tmp_path), FakeLauncher(outcomes={0: BUSY}, polls=1)
    whenever_it_waits(wait)
    held = run_lock(place)
    held.__enter__()
    sweep.run(launcher, lambda run: told.append(run.state))
    assert launcher.seeds == [0]  # once, to find that it was busy
    assert told == ["running", "elsewhere", "done"]
    assert sweep.runs[0].metrics == METRICS


@pytest.fixture
def whenever_it_waits(monkeypatch):
    """Have something done whenever the sweep waits."""

    def do(what):
        clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: what())
        monkeypatch.setattr(sweep_module, "time", clock)

    return do


def interrupting(interruption, after):
    """What has the signal come at the `after`-th time."""
    count = 0

    def tick():
        nonlocal count
        count += 1
        if count == after:
            interruption.signal = signal.SIGTERM

    return tick


def test_after_a_signal_the_runs_under_way_are_asked_once_and_no_other_is_started(tmp_path, whenever_it_waits):
    sweep, launcher, interruption = Sweep(CONFIGS, tmp_path), FakeLauncher(run=UntilStopped), Interruption()
    whenever_it_waits(interrupting(interruption, 5))
    with pytest.raises(RunInterrupted) as caught:
        sweep.run(launcher, interruption=interruption)
    assert caught.value.signal == signal.SIGTERM
    assert str(caught.value) == "stopped"
    assert launcher.seeds == [0, 1]
    assert [run.stops for run in launcher.launched] == [1, 1]
    assert not launcher.alive  # waited for
    assert states(sweep) == ["unfinished", "unfinished", "missing", "missing", "missing"]
    assert sweep.runs[0].reason == "stopped: task 1"
    assert not list(tmp_path.glob("*/failure.json"))


def test_without_a_signal_nobody_is_asked_to_stop(tmp_path):
    launcher = FakeLauncher()
    Sweep(CONFIGS, tmp_path).run(launcher, interruption=Interruption())
    assert [run.stops for run in launcher.launched] == [0] * 5


def test_a_signal_before_the_first_run_starts_none(tmp_path):
    interruption, launcher = Interruption(), FakeLauncher()
    interruption.signal = signal.SIGINT
    with pytest.raises(RunInterrupted):
        Sweep(CONFIGS, tmp_path).run(launcher, interruption=interruption)
    assert launcher.seeds == []


def test_a_run_that_ends_before_it_heard_of_the_signal_is_done(tmp_path, whenever_it_waits):
    sweep, launcher, interruption = Sweep(CONFIGS[:3], tmp_path), FakeLauncher(1, polls=10), Interruption()
    whenever_it_waits(interrupting(interruption, 5))
    with pytest.raises(RunInterrupted):
        sweep.run(launcher, interruption=interruption)
    assert states(sweep) == ["done", "missing", "missing"]
    assert [run.stops for run in launcher.launched] == [1]


def test_a_run_of_somebody_else_is_not_waited_for_after_a_signal(tmp_path, monkeypatch, whenever_it_waits):
    monkeypatch.setattr(sweep_module, "_PATIENCE", 1000.0)
    sweep, interruption = Sweep(CONFIGS[:1], tmp_path), Interruption()
    launcher = FakeLauncher(outcomes={0: BUSY}, polls=1)
    whenever_it_waits(interrupting(interruption, 5))
    with pytest.raises(RunInterrupted):
        sweep.run(launcher, interruption=interruption)
    assert launcher.seeds == [0]
    assert states(sweep) == ["elsewhere"]


def test_a_second_signal_does_not_wait_and_stops_the_runs_under_way(tmp_path, whenever_it_waits):
    sweep, launcher = Sweep(CONFIGS, tmp_path), FakeLauncher(run=UntilStopped)

    def again():
        if len(launcher.launched) == 2:
            raise RunInterrupted(signal.SIGINT)

    whenever_it_waits(again)
    with pytest.raises(RunInterrupted, match="stopped at once"):
        sweep.run(launcher, interruption=Interruption())
    assert [run.stops for run in launcher.launched] == [1, 1]
    assert len(launcher.alive) == 2  # not waited for


def test_every_change_is_told_in_its_order(tmp_path):
    told = []
    Sweep(CONFIGS[:2], tmp_path).run(
        FakeLauncher(1, outcomes={1: Outcome("failed", "why")}),
        lambda run: told.append((run.config.options.seed, run.state)),
    )
    assert told == [(0, "running"), (0, "done"), (1, "running"), (1, "failed")]


def spoil(path, what):
    """Have something else where a run should be."""
    if what == "another run":
        finish(CONFIGS[1], path)
    elif what == "a letter":
        path.mkdir()
        (path / "letter.txt").touch()
    else:
        finish(CONFIGS[0], path)
        (path / "metrics.json").write_text("{")


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("another run", "contains another run than its name says"),
        ("a letter", "must be new, empty or of a run"),
        ("half a result", "metrics.json must be JSON"),
    ],
)
def test_what_cannot_be_read_has_failed_and_is_left_alone_and_the_others_are_made(tmp_path, what, reason):
    place = tmp_path / CONFIGS[0].name
    spoil(place, what)
    before = {file: file.read_bytes() for file in place.iterdir()}
    sweep, launcher = Sweep(CONFIGS[:2], tmp_path), FakeLauncher()
    assert states(sweep) == ["failed", "missing"]
    assert reason in sweep.runs[0].reason
    sweep.run(launcher)
    assert launcher.seeds == [1]
    assert states(sweep) == ["failed", "done"]
    assert {file: file.read_bytes() for file in place.iterdir()} == before


def test_a_result_that_cannot_be_read_when_its_run_has_ended_is_a_failure(tmp_path):
    class Spoilt(FakeLauncher):
        def launch(self, job, slot):
            launched = super().launch(job, slot)
            launched.outcome = lambda: spoil(job.directory, "half a result") or DONE
            return launched

    sweep = Sweep(CONFIGS[:1], tmp_path)
    sweep.run(Spoilt())
    assert states(sweep) == ["failed"]
    assert "metrics.json must be JSON" in sweep.runs[0].reason


def test_the_record_of_a_failure_can_be_written_and_removed_twice(tmp_path):
    directory = RunDirectory(tmp_path / "new" / "run")
    directory.write_failure(None)
    assert not directory.path.exists()
    directory.write_failure("first")
    directory.write_failure("second")
    assert json.loads(directory.failure.read_text())["reason"] == "second"
    assert directory.state() == "empty"
    directory.write_failure(None)
    directory.write_failure(None)
    assert not directory.failure.exists()


def test_a_disk_that_fails_one_run_does_not_stop_the_others(tmp_path, monkeypatch):
    def refuse(self, reason):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunDirectory, "write_failure", lambda *_: None)
    sweep = Sweep(CONFIGS[:3], tmp_path)
    sweep.runs[0].directory.write_failure = lambda reason: refuse(None, reason)
    sweep.run(FakeLauncher(1))
    assert states(sweep) == ["failed", "done", "done"]
    assert sweep.runs[0].reason == (
        "it could not be started: No space left on device; this could not be recorded: No space left on device"
    )


def test_what_is_to_be_known_of_a_run_that_is_done_is_kept(tmp_path):
    sweep = Sweep(CONFIGS[:1], tmp_path)
    sweep.run(FakeLauncher(outcomes={0: Outcome("done", "went on from the checkpoint before")}))
    assert states(sweep) == ["done"]
    assert sweep.runs[0].reason == "went on from the checkpoint before"


def planned(state="missing", seconds=None, **settings):
    config = resolve_config({"epochs": 1, "backbone.width": 4, "tasks": 2, **settings})
    metrics = None if seconds is None else {"seconds": {"total": seconds}}
    return SweepRun(config, RunDirectory(Path(config.name)), state, metrics=metrics)


def test_an_estimate_takes_the_mean_of_finished_runs_alike():
    runs = [planned("done", 10.0, seed=0), planned("done", 20.0, seed=1), *(planned(seed=seed) for seed in (2, 3, 4))]
    assert estimate(runs, 1) == pytest.approx(45.0)


@pytest.mark.parametrize(("slots", "seconds"), [(1, 40.0), (2, 20.0), (4, 10.0), (100, 10.0)])
def test_runs_at_a_time_divide_an_estimate_as_long_as_there_are_runs(slots, seconds):
    runs = [planned("done", 10.0, seed=9), *(planned(seed=seed) for seed in range(4))]
    assert estimate(runs, slots) == pytest.approx(seconds)


@pytest.mark.parametrize("setting", [{"seed": 5}, {"lr": 0.7}, {"class_order": "shuffled"}, {"casper.weight": 0.7}])
def test_runs_that_differ_in_what_costs_no_time_are_alike(setting):
    runs = [planned("done", 10.0), planned("done", 90.0, method="icarl"), planned(**setting)]
    assert estimate(runs, 1) == pytest.approx(10.0)


@pytest.mark.parametrize(
    "setting",
    [{"epochs": 2}, {"batch_size": 16}, {"regularizer": "none"}, {"backbone.width": 8}, {"buffer_size": 30}],
)
def test_runs_that_differ_in_what_costs_time_take_the_mean_of_all(setting):
    runs = [planned("done", 10.0), planned("done", 90.0, method="icarl"), planned(**setting)]
    assert estimate(runs, 1) == pytest.approx(50.0)


def test_what_is_done_or_made_elsewhere_takes_no_time():
    runs = [planned("done", 10.0), planned("elsewhere", seed=1), planned("unfinished", seed=2)]
    assert estimate(runs, 1) == pytest.approx(10.0)


def test_without_a_finished_run_there_is_no_estimate():
    assert estimate([planned()], 1) is None
