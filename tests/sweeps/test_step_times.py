import time
from types import SimpleNamespace

import pytest
import torch

from casper import CaSpeR
from casper.config import METHODS, ConfigError, resolve_config
from casper.errors import ParameterError
from casper.sweeps import Ratio, StepTimes, ratio, step_times
from casper.sweeps.second_task import SecondTask
from casper.types import ImageSet

# Passes of a step, and those among them with a gradient: the stream, one or two replayed batches, or a teacher.
PASSES = {"er-ace": (2, 2), "der++": (3, 3), "x-der": (3, 3), "icarl": (2, 1), "podnet": (2, 1)}
SMALL = {"backbone.width": 4, "buffer_size": 40, "batch_size": 16}


def configured(method="er-ace", regularizer="none", **settings):
    casper = {"casper.num_classes": 2} if regularizer == "casper" else {}
    return resolve_config({**SMALL, **casper, "method": method, "regularizer": regularizer, **settings})


def with_and_without(method="er-ace"):
    return [configured(method), configured(method, "casper")]


def times(seconds, steps=10):
    return StepTimes(configured(), steps, tuple(seconds), 2.0, 2.0)


@pytest.fixture
def clock(monkeypatch):
    """Time stands still but where a part is said to take some."""
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def takes(owner, name, seconds):
        original = getattr(owner, name)

        def slow(*arguments, **named):
            now[0] += seconds
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, slow)

    return takes


@pytest.mark.parametrize("method", PASSES)
def test_passes_are_those_of_the_method_and_one_of_casper(method):
    without, with_ = step_times(with_and_without(method), steps=3, repeats=1)
    passes, with_gradient = PASSES[method]
    assert (without.passes, without.passes_with_gradient) == (passes, with_gradient)
    assert (with_.passes, with_.passes_with_gradient) == (passes + 1, with_gradient + 1)


def test_a_regularizer_of_weight_zero_makes_no_pass():
    (found,) = step_times([configured("der++", "casper", **{"casper.weight": 0.0})], steps=2, repeats=1)
    assert found.passes == 3


def test_there_is_a_time_for_every_repeat_of_every_run():
    configs = with_and_without()
    found = step_times(configs, steps=2, repeats=4)
    assert [each.config for each in found] == configs
    assert [each.steps for each in found] == [2, 2]
    assert all(len(each.seconds) == 4 and min(each.seconds) > 0 for each in found)
    assert step_times([], steps=2) == []
    assert len(step_times(configs[:1], steps=1)[0].seconds) == 3


@pytest.mark.parametrize("method", ["icarl", "podnet", "x-der"])
def test_time_is_that_of_steps_alone(clock, method):
    kind = METHODS[method]
    clock(kind, "observe", 1.0)
    for name in ("start_task", "end_task", "training_set", "predict"):
        clock(kind, name, 1000.0)
    clock(ImageSet, "checksum", 1000.0)
    found = step_times([configured(method)], steps=7, repeats=2)
    assert found[0].seconds == (7.0, 7.0)


def test_showing_a_batch_belongs_to_its_step(clock):
    clock(METHODS["er-ace"], "view", 1.0)
    (found,) = step_times([configured()], steps=5, repeats=1)
    assert found.seconds == (10.0,)  # the stream's and the replayed one


def test_neither_the_untrained_network_nor_the_latent_space_is_measured(monkeypatch):
    for part in ("test_untrained", "summarize_latent_space"):
        monkeypatch.setattr(f"casper.training.Evaluator.{part}", lambda *_: pytest.fail("measured"))
    step_times([configured()], steps=1, repeats=1)


def test_repeats_go_through_all_runs_and_counting_has_no_clock(monkeypatch):
    order, looks = [], []
    original = SecondTask.repeat

    def watched(self, read):
        looked = len(looks)
        found = original(self, read)
        order.append((self.trainer.method.__class__.__name__, len(looks) > looked))
        return found

    watched_clock = SimpleNamespace(perf_counter=lambda: looks.append(1) or time.perf_counter())
    monkeypatch.setattr(SecondTask, "repeat", watched)
    monkeypatch.setitem(step_times.__globals__, "time", watched_clock)
    step_times([configured("er-ace"), configured("der++"), configured("x-der")], steps=1, repeats=2)
    names = ["ERACE", "DERpp", "XDER"]
    assert order == [(name, False) for name in names] + [(name, True) for name in names] * 2
    assert len(looks) == 2 * 6


def test_progress_is_told_of_every_stretch_of_work():
    told, configs = [], with_and_without()
    step_times(configs, steps=1, repeats=2, progress=lambda *what: told.append(what))
    assert told == [(done, 8, configs[(done - 1) % 2]) for done in range(1, 9)]


def test_a_gpu_is_waited_for_before_each_look_at_the_clock(monkeypatch):
    happened = []
    seconds = step_times.__globals__["_seconds"]
    monkeypatch.setattr("torch.cuda.synchronize", lambda device: happened.append(device))
    monkeypatch.setattr("time.perf_counter", lambda: happened.append("clock") or 0.0)

    class Run:
        def repeat(self, read):
            return read(), read()

    seconds(Run(), "cuda:1")
    assert happened == ["cuda:1", "clock"] * 2
    happened.clear()
    seconds(Run(), "cpu")
    assert happened == ["clock"] * 2


def test_random_numbers_are_left_alone():
    torch.manual_seed(11)
    before = torch.get_rng_state()
    step_times([configured()], steps=1, repeats=1)
    assert torch.equal(torch.get_rng_state(), before)


def test_threads_are_so_many_while_it_measures_and_as_before_afterwards(monkeypatch):
    seen = []

    class Run:
        """Makes no steps: two threads on cores that are busy would take long."""

        def __init__(self, config, **_):
            seen.append(torch.get_num_threads())

        def repeat(self, read):
            seen.append(torch.get_num_threads())
            return read(), read()

    monkeypatch.setitem(step_times.__globals__, "SecondTask", Run)
    step_times([configured()], steps=1, repeats=1, threads=3)
    assert (seen, torch.get_num_threads()) == ([3, 3, 3], 1)
    torch.set_num_threads(2)
    step_times([configured()], steps=1, repeats=1)
    assert (seen[3:], torch.get_num_threads()) == ([2, 2, 2], 2)


def test_a_run_that_cannot_be_built_leaves_all_as_it_was():
    torch.manual_seed(11)
    before = torch.get_rng_state()
    wrong = configured(regularizer="casper", **{"casper.num_classes": 0})
    with pytest.raises(ConfigError):
        step_times([wrong], steps=1, threads=2)
    assert torch.get_num_threads() == 1
    with pytest.raises(ConfigError):
        step_times([configured(), wrong], steps=1)  # the first one has drawn
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("values", [{"steps": 0}, {"steps": 1, "repeats": 0}, {"steps": 1, "threads": 0}])
def test_too_small_a_value_is_refused_before_anything_is_built(values, monkeypatch):
    monkeypatch.setitem(step_times.__globals__, "SecondTask", lambda *_, **__: pytest.fail("built"))
    with pytest.raises(ParameterError, match=f"`{list(values)[-1]}` should be at least 1. Found 0"):
        step_times([configured()], **values)


def test_the_ratio_is_paired_by_repeat():
    found = ratio(times([2.0, 9.0, 40.0]), times([1.0, 3.0, 10.0]))
    assert found == Ratio(median=3.0, least=2.0, largest=4.0)
    # A busy machine in one repeat changes neither ratio nor rank: the ratio of medians would be 10 / 2.
    assert ratio(times([3.0, 10.0, 12.0]), times([2.0, 10.0, 1.0])) == Ratio(1.5, 1.0, 12.0)


@pytest.mark.parametrize("other", [times([1.0, 1.0]), times([1.0] * 3, steps=11)])
def test_only_what_was_measured_alike_has_a_ratio(other):
    with pytest.raises(ParameterError, match="as many steps and repeats"):
        ratio(times([1.0] * 3), other)


def test_an_added_wait_is_found_in_the_ratio(clock):
    """All parts together: a step of 1 s, and CaSpeR's of 0.5 s on top."""
    clock(METHODS["er-ace"], "observe", 1.0)
    clock(CaSpeR, "loss", 0.5)
    without, with_ = step_times(with_and_without(), steps=2)
    assert ratio(with_, without) == Ratio(1.5, 1.5, 1.5)
