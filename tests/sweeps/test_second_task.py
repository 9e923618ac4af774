from copy import deepcopy

import pytest
import torch

from casper.config import METHODS, resolve_config
from casper.errors import ParameterError
from casper.sweeps import second_task
from casper.sweeps.second_task import SecondTask
from support import assert_same_state

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
    assert first["position"]["step"] == second_task._WARM_UP + 2


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
    assert run.repeat(lambda: run.trainer.position.step) == (second_task._WARM_UP, second_task._WARM_UP + 4)


def test_a_task_of_fewer_images_is_gone_through_again():
    run = at_second_task(steps=40)
    assert run.trainer.position.steps_per_epoch < 40
    assert run.repeat(lambda: run.trainer.position.step) == (second_task._WARM_UP, second_task._WARM_UP + 40)


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
