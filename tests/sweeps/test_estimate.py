import time
from functools import partial
from pathlib import Path

import pytest
import torch

from casper.config import ConfigError, resolve_config
from casper.errors import DataError, NonFiniteLossError
from casper.runs import RunDirectory, execute
from casper.sweeps import SweepRun, estimate, expand, trial_seconds

QUICK = {"epochs": 1, "backbone.width": 4, "tasks": 2}
trial_here = partial(trial_seconds, device="cpu", threads=1, data_dir=None)


def sweep_run(state="missing", seconds=None, **settings):
    config = resolve_config({**QUICK, **settings})
    metrics = None if seconds is None else {"seconds": {"total": seconds}}
    return SweepRun(config, RunDirectory(Path(config.name)), state, metrics=metrics)


def done(seconds, **settings):
    return sweep_run("done", seconds, **settings)


class Trials:
    """Tells a run's seconds by its method, and how often it was asked."""

    def __init__(self, **seconds):
        self.seconds, self.asked = seconds, []

    def __call__(self, config):
        self.asked.append(config)
        answer = self.seconds[config.options.method]
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_finished_runs_alike_are_asked_and_no_trial_is_made():
    runs = [done(10.0, seed=0), done(20.0, seed=1), *(sweep_run(seed=seed) for seed in (2, 3, 4))]
    expected = estimate(runs, 1, Trials())
    assert expected.seconds == pytest.approx(45.0)
    assert expected.source == "3 by finished runs like them"


@pytest.mark.parametrize(("slots", "seconds"), [(1, 40.0), (2, 20.0), (4, 10.0), (100, 10.0)])
def test_runs_at_a_time_divide_it_as_long_as_there_are_runs(slots, seconds):
    runs = [sweep_run(seed=seed) for seed in range(4)]
    assert estimate(runs, slots, lambda _: 10.0).seconds == pytest.approx(seconds)


def test_of_every_kind_there_is_one_trial():
    runs = [sweep_run(method=method, seed=seed) for method in ("er", "icarl") for seed in (0, 1, 2)]
    trials = Trials(er=1.0, icarl=5.0)
    expected = estimate(runs, 1, trials)
    assert [config.options.method for config in trials.asked] == ["er", "icarl"]
    assert expected.seconds == pytest.approx(18.0)
    assert expected.source == "2 by a short trial each"


def test_runs_that_differ_in_what_costs_no_time_share_a_trial():
    asked = []
    settings = [{}, {"seed": 5}, {"lr": 0.7}, {"class_order": "shuffled"}, {"casper.weight": 0.7}]
    estimate([sweep_run(**one) for one in settings], 1, lambda config: asked.append(config) or 1.0)
    assert len(asked) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"epochs": 2},
        {"tasks": 5},
        {"batch_size": 16},
        {"regularizer": "none"},
        {"method": "er"},
        {"backbone.width": 8},
        {"recalibrate": True},
        {"buffer_size": 30},
    ],
)
def test_runs_that_differ_in_what_costs_time_do_not(settings):
    asked = []
    estimate([sweep_run(), sweep_run(**settings)], 1, lambda config: asked.append(config) or 1.0)
    assert len(asked) == 2


def test_finished_runs_and_trials_are_joined():
    runs = [done(10.0, method="er"), sweep_run(method="er", seed=1), sweep_run(method="icarl")]
    trials = Trials(icarl=5.0)
    expected = estimate(runs, 1, trials)
    assert (expected.seconds, expected.source) == (
        pytest.approx(15.0),
        "1 by finished runs like them, 1 by a short trial each",
    )


def test_the_start_of_a_process_counts_for_every_run():
    runs = [done(10.0), *(sweep_run(seed=seed) for seed in (1, 2))]
    assert estimate(runs, 1, Trials(), startup=3.0).seconds == pytest.approx(26.0)


def test_what_is_done_or_made_elsewhere_takes_no_time():
    runs = [done(10.0), sweep_run("elsewhere", seed=1), sweep_run("unfinished", seed=2)]
    assert estimate(runs, 1, Trials()).seconds == pytest.approx(10.0)


def test_without_patience_what_is_left_takes_the_mean_of_what_is_known():
    runs = [done(10.0, method="er"), done(20.0, method="er", seed=1), sweep_run(method="icarl")]
    trials = Trials()
    expected = estimate(runs, 1, trials, patience=0.0)
    assert trials.asked == []
    assert expected.seconds == pytest.approx(15.0)
    assert expected.source  # says where it came from


def test_a_trial_may_use_up_the_patience():
    asked = []

    def slow(config):
        asked.append(config.options.method)
        time.sleep(0.06)
        return 4.0

    expected = estimate([sweep_run(method="er"), sweep_run(method="icarl")], 1, slow, patience=0.05)
    assert asked == ["er"]
    assert expected.seconds == pytest.approx(8.0)
    assert expected.source == "1 by a short trial each, 1 by the mean of the others"


@pytest.mark.parametrize("error", [ConfigError("no"), DataError("no"), NonFiniteLossError("no")])
def test_a_trial_that_fails_leaves_the_others(error):
    runs = [sweep_run(method="er"), sweep_run(method="icarl"), sweep_run(method="x-der")]
    expected = estimate(runs, 1, Trials(**{"er": error, "icarl": 5.0, "x-der": 7.0}))
    assert expected.seconds == pytest.approx(12.0)  # the first will fail, and takes no time
    assert expected.source == "2 by a short trial each, without 1 whose trial fails"


@pytest.mark.parametrize("error", [ConfigError("no"), DataError("no"), NonFiniteLossError("no")])
def test_where_nothing_works_nothing_is_said(error):
    expected = estimate([sweep_run(method="er")], 1, Trials(er=error))
    assert expected.seconds is None
    assert expected.source == "nothing like them has been run, and a short trial fails: no"


def test_a_run_that_leaves_the_numbers_within_its_trial_is_no_reason_to_stop():
    assert estimate([sweep_run(lr=1e30)], 1, trial_here).seconds is None


def test_a_trial_tells_about_what_the_run_takes(tmp_path):
    config = resolve_config({**QUICK, "epochs": 4})
    trial_here(config)  # whatever is done once in a process
    expected = trial_here(config)
    found = execute(config, tmp_path / "run")["seconds"]["total"]
    assert found / 5 < expected < found * 5


def test_a_trial_counts_epochs_and_tasks():
    one, many = (trial_here(resolve_config({**QUICK, "epochs": epochs})) for epochs in (1, 50))
    assert 10 < many / one < 250


def test_a_trial_leaves_the_number_of_threads_alone(monkeypatch):
    used = []
    original = torch.set_num_threads
    monkeypatch.setattr("torch.set_num_threads", lambda number: (used.append(number), original(number)))
    trial_seconds(resolve_config(QUICK), device="cpu", threads=2, data_dir=None)
    assert used == [2, 1]
    assert torch.get_num_threads() == 1
    with pytest.raises(ConfigError):
        trial_seconds(resolve_config({**QUICK, "casper.num_classes": 0}), device="cpu", threads=2, data_dir=None)
    assert torch.get_num_threads() == 1


def test_a_trial_needs_images(tmp_path):
    with pytest.raises(DataError):
        trial_here(resolve_config({**QUICK, "stream": f"npz:{tmp_path / 'gone.npz'}"}))


def test_seeds_share_one_real_trial(monkeypatch):
    built = []
    original = estimate.__globals__["build_trainer"]
    monkeypatch.setitem(
        estimate.__globals__, "build_trainer", lambda *args, **options: built.append(1) or original(*args, **options)
    )
    configs = expand({**QUICK, "grid": {"seed": [0, 1, 2]}})
    runs = [SweepRun(config, RunDirectory(Path(config.name))) for config in configs]
    assert estimate(runs, 1, trial_here).seconds > 0
    assert len(built) == 1


@pytest.mark.parametrize("settings", [{"tasks": 1}, {"method": "joint"}, {"method": "icarl"}, {"validation": 0.2}])
def test_a_trial_of_anything_is_a_positive_number(settings):
    assert 0 < trial_here(resolve_config({**QUICK, **settings})) < 60
