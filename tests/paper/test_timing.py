import time
from copy import deepcopy
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from casper import CaSpeR, ConvNet
from casper.config import METHODS, ConfigError, resolve_config
from casper.errors import ParameterError
from casper.nets import FeatureClassifier, snapshot
from casper.paper import Ratio, StepTimes, ratio, step_times, timing
from casper.paper.timing import SecondTask, counted_passes
from casper.types import ImageSet
from support import assert_same_state

IMAGES = torch.rand(2, 1, 8, 8)


def network():
    backbone = ConvNet((1, 8, 8), width=4)
    return FeatureClassifier(backbone, nn.Linear(backbone.dim, 3))


def counts(made):
    return made["all"], made["with gradient"]


def test_whole_networks_count_and_their_parts_do_not():
    net = network()
    with counted_passes() as made:
        assert counts(made) == (0, 0)
        net(IMAGES)
        net.backbone(IMAGES)
        nn.ReLU()(IMAGES)
        assert counts(made) == (1, 1)
        network()(IMAGES)
        assert counts(made) == (2, 2)


def test_passes_without_a_gradient_are_told_apart():
    net = network()
    with counted_passes() as made:
        net(IMAGES)
        snapshot(net)(IMAGES)  # frozen, though gradients are enabled
        with torch.no_grad():
            net(IMAGES)
    assert counts(made) == (3, 1)


def test_nothing_is_counted_after_the_block_however_it_ended():
    net = network()
    with counted_passes() as made:
        net(IMAGES)
    net(IMAGES)
    assert counts(made) == (1, 1)
    with pytest.raises(RuntimeError), counted_passes() as made:
        net(torch.rand(2, 5, 8, 8))  # of five channels
    net(IMAGES)
    assert counts(made) == (0, 0)


METHODS_WITH_MEMORY = ["er-ace", "der++", "x-der", "icarl", "podnet"]
SMALL = {"backbone.width": 4, "buffer_size": 40, "batch_size": 16, "tasks": 5, "casper.num_classes": 2}


def at_second_task(method="er-ace", regularizer="casper", steps=2, **settings):
    given = {**SMALL, "method": method, "regularizer": regularizer, **settings}
    if regularizer == "none":
        given.pop("casper.num_classes")
    return SecondTask(resolve_config(given), steps=steps)


def state_after(run):
    run.repeat(lambda: None)
    state = deepcopy(run.trainer.state_dict())
    del state["seconds"]
    return state


@pytest.mark.parametrize("method", METHODS_WITH_MEMORY)
def test_every_repeat_is_the_same_work(method):
    run = at_second_task(method)
    before = next(run.trainer.net.parameters()).detach().clone()
    first = state_after(run)
    torch.rand(5)
    assert_same_state(first, state_after(run))
    assert not torch.equal(before, next(run.trainer.net.parameters()))  # something is learnt
    assert first["position"]["step"] == timing._WARM_UP + 2


def test_momentum_begins_anew_too(monkeypatch):
    def with_momentum(self, parameters, lr):
        return torch.optim.SGD(parameters, lr=lr, momentum=0.9)

    monkeypatch.setattr(METHODS["er-ace"], "make_optimizer", with_momentum)
    run = at_second_task()
    assert_same_state(state_after(run), state_after(run))


def test_dropout_begins_anew_too(monkeypatch):
    monkeypatch.setattr("casper.ConvNet.dropout", 0.5, raising=False)
    run = at_second_task()
    assert run.trainer.net.dropout.p == 0.5
    first = state_after(run)
    torch.rand(5)
    assert_same_state(first, state_after(run))


@pytest.mark.parametrize("method", METHODS_WITH_MEMORY)
def test_the_memory_is_full_as_the_second_task_begins(method):
    run = at_second_task(method, buffer_size=120)
    assert len(run.trainer.memory) == 120
    assert set(run.trainer.memory.labels.tolist()) == set(run.trainer.stream[0].classes)
    assert run.trainer.position.phase == 1
    assert (getattr(run.trainer.method, "teacher", None) is not None) == (method in ("icarl", "podnet"))


def test_it_is_the_second_of_all_tasks():
    """So that there is something to come, which X-DER looks at."""
    seen = []
    run = at_second_task("x-der", "none")
    observe = run.trainer.method.observe

    def watched(batch, task, *rest):
        terms = observe(batch, task, *rest)
        seen.append((task.index, task.num_tasks, sorted(terms), len(batch)))
        return terms

    run.trainer.method.observe = watched
    run.repeat(lambda: None)
    assert seen == [(1, 5, ["future", "labels", "logits", "past", "stream"], 16)] * 5


def test_it_reads_before_the_steps_and_after_them():
    run = at_second_task(steps=4)
    assert run.repeat(lambda: run.trainer.position.step) == (timing._WARM_UP, timing._WARM_UP + 4)


def test_a_task_of_fewer_images_is_gone_through_again():
    run = at_second_task(steps=40)
    assert run.trainer.position.steps_per_epoch < 40
    assert run.repeat(lambda: run.trainer.position.step) == (timing._WARM_UP, timing._WARM_UP + 40)


def test_the_first_task_is_short_and_hardly_tested(monkeypatch):
    made = []
    original = METHODS["er-ace"].observe
    monkeypatch.setattr(METHODS["er-ace"], "observe", lambda self, *rest: made.append(1) or original(self, *rest))
    predict, tested = METHODS["er-ace"].predict, []
    monkeypatch.setattr(
        METHODS["er-ace"], "predict", lambda self, images: tested.append(len(images)) or predict(self, images)
    )
    run = at_second_task(epochs=50, recalibrate=True, milestones=[20])
    assert len(made) == 5  # 80 images, 16 at a time
    assert tested == [1, 1]  # an image of the first task, and one of the next
    run.repeat(lambda: None)
    assert len(made) == 10


def test_a_run_without_a_second_task_is_refused():
    for settings in ({"tasks": 1}, {"method": "joint", "regularizer": "none"}):
        with pytest.raises(ParameterError, match="second task"):
            at_second_task(**settings)


# Passes of a step, and those among them with a gradient: the stream, one or two replayed batches, or a teacher.
PASSES = {"er-ace": (2, 2), "der++": (3, 3), "x-der": (3, 3), "icarl": (2, 1), "podnet": (2, 1)}
SMALL_TIMED = {"backbone.width": 4, "buffer_size": 40, "batch_size": 16}


def configured(method="er-ace", regularizer="none", **settings):
    casper = {"casper.num_classes": 2} if regularizer == "casper" else {}
    return resolve_config({**SMALL_TIMED, **casper, "method": method, "regularizer": regularizer, **settings})


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
    with pytest.raises(ParameterError, match=f"`{list(values)[-1]}` must be at least 1, but got 0"):
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
