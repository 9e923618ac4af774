"""A run that was stopped and started again ends with the bits of one that was not: every method, every regularizer."""

from collections import Counter

import pytest
from torch.optim import SGD, Adam

from casper import MLP, rotated_digits, split_digits
from casper.config import METHODS, REGULARIZERS
from casper.methods import Finetune
from casper.nets import inference
from casper.streams import hide_labels
from casper.training import PieceDone, RunStarted, SetTested, StepDone, TaskDone, TaskStarted, TaskTrained, evaluation
from casper.training.checkpoint import load_checkpoint, save_checkpoint
from support import (
    MEMORYLESS,
    REHEARSING,
    DropoutConvNet,
    assert_same_state,
    regularizer,
    small_trainer,
)

PAIRS = [
    *((method, ()) for method in [*MEMORYLESS, *REHEARSING]),
    *((method, (name,)) for method in REHEARSING for name in REGULARIZERS),
    ("er-ace", ("casper", "forward-only", "cscct")),
]
# Half precision concerns a pass, not a pair: every method once, every regularizer once.
IN_HALF_PRECISION = [(method, names) for method, names in PAIRS if not names or method == "er-ace"]
CASES = [*((*pair, "fp32") for pair in PAIRS), *((*pair, "bf16") for pair in IN_HALF_PRECISION)]


def all_but_seconds(state):
    return {**state, "seconds": None}


def keep_states(stops, folder):
    """Listen to a run, and keep its state as a checkpoint at the n-th event of a kind, for every (kind, n)."""
    counts = Counter()

    def listen(event):
        counts[type(event)] += 1
        if (type(event), counts[type(event)]) in stops:
            save_checkpoint(folder / f"{type(event).__name__}-{counts[type(event)]}.pt", listen.trainer.state_dict())

    return listen


def assert_resumes(build, stops, folder):
    """Go on from each state in a new trainer; all end with the bits of the run that was not stopped."""
    listen = keep_states(stops, folder)
    whole = listen.trainer = build(listeners=[listen])
    metrics, state = whole.run(), whole.state_dict()
    kept = sorted(folder.glob("*.pt"))
    assert len(kept) == len(stops)
    for path in kept:
        again = build()
        again.load_state_dict(load_checkpoint(path))
        assert {**again.run(), "seconds": None} == {**metrics, "seconds": None}, path
        assert_same_state(all_but_seconds(again.state_dict()), all_but_seconds(state))


@pytest.mark.parametrize(("method", "names", "precision"), CASES, ids=str)
def test_every_pair_resumes_inside_an_epoch_at_a_border_and_in_an_evaluation(method, names, precision, tmp_path):
    def build(listeners=()):
        return small_trainer(
            method,
            [regularizer(name) for name in names],
            backbone=DropoutConvNet,  # draws from the global generator in every pass
            batch_size=32,
            epochs=2,
            recalibrate=True,
            precision=precision,
            milestones=(1,),
            listeners=listeners,
        )

    # 8 + 8 steps in the first task, as many in the second; joint has one task of all, and no border before the end.
    stops = [(StepDone, 26), (TaskDone, 1), (SetTested, 2 + 2 + 1)]
    if method in REHEARSING:
        stops += [(SetTested, 2 + 3 + 3), (SetTested, 2 + 3 + 4 + 1)]  # recalibrated; features at the end
    assert_resumes(build, stops, tmp_path)


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        (RunStarted, 1),  # before anything
        (SetTested, 1),
        (SetTested, 2),  # the last of the untrained network
        (TaskStarted, 1),
        (StepDone, 1),
        (StepDone, 8),  # the last of an epoch: the schedule has moved
        (StepDone, 16),  # the last of a task
        (TaskTrained, 1),
        (TaskStarted, 2),
        (SetTested, 7),
        (TaskDone, 2),
        (SetTested, 10),  # features of the first set
        (SetTested, 11),  # the last event of the run
    ],
)
def test_every_event_is_a_place_to_resume_from(kind, number, tmp_path):
    def build(listeners=()):
        return small_trainer(
            "x-der",
            [regularizer("casper")],
            epochs=2,
            batch_size=32,
            recalibrate=True,
            milestones=(1,),
            listeners=listeners,
        )

    assert_resumes(build, [(kind, number)], tmp_path)


@pytest.mark.parametrize("method", ["er-ace", "der++", "joint"])
def test_domain_streams_and_an_optimizer_that_lives_on(method, tmp_path):
    def build(listeners=()):
        parts = [regularizer("casper")] if method in REHEARSING else []
        stream = rotated_digits(num_tasks=2)
        return small_trainer(method, parts, stream=stream, batch_size=128, epochs=2, backbone=MLP, listeners=listeners)

    stops = [(StepDone, 10), (SetTested, 3), (TaskDone, 1)]
    assert_resumes(build, stops, tmp_path)


# 2 tasks: the untrained network's 2 sets; the first task's end, its 2 sets and the recalibrated one (20 draws first);
# the second one's start, end and 4 sets; the features of 2 sets and the memory. A set has about 50 images.
@pytest.mark.parametrize("method", ["er-ace", "icarl", "podnet", "x-der", "scr", "ccic"])
def test_the_midst_of_a_tasks_start_or_end_or_of_a_test_set_is_a_place_to_resume_from(method, tmp_path, monkeypatch):
    monkeypatch.setattr(inference, "CHUNK", 20)
    monkeypatch.setattr(evaluation, "CHUNK", 20)
    told = []

    def build(listeners=(told.append,)):
        return small_trainer(
            method,
            [regularizer("casper")],
            backbone=DropoutConvNet,
            batch_size=32,
            recalibrate=True,
            listeners=listeners,
        )

    build().run()
    pieces = sum(isinstance(event, PieceDone) for event in told)
    assert pieces >= 60
    assert_resumes(build, [(PieceDone, number) for number in range(2, pieces + 1, 5)], tmp_path)


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.takes_unlabelled])
@pytest.mark.parametrize("name", ["casper", "cscct"])
def test_streams_with_hidden_labels(method, name, tmp_path):
    def build(listeners=()):
        return small_trainer(
            method,
            [regularizer(name)],
            stream=hide_labels(split_digits()[:2], per_class=20),
            backbone=DropoutConvNet,
            batch_size=32,
            epochs=2,
            listeners=listeners,
        )

    assert_resumes(build, [(StepDone, 5), (StepDone, 26), (TaskDone, 1), (SetTested, 3), (PieceDone, 4)], tmp_path)


class WithMomentum(Finetune):
    def make_optimizer(self, parameters, lr):
        return SGD(parameters, lr=lr, momentum=0.9)


class WithAdam(Finetune):
    def make_optimizer(self, parameters, lr):
        return Adam(parameters, lr=lr / 10)


@pytest.mark.parametrize("method", [WithMomentum, WithAdam])
@pytest.mark.parametrize("milestones", [(), (2,)])
def test_an_optimizers_own_state_goes_on(method, milestones, tmp_path):
    def build(listeners=()):
        return small_trainer(method(), epochs=3, batch_size=32, milestones=milestones, listeners=listeners)

    assert_resumes(build, [(StepDone, 5), (StepDone, 12), (StepDone, 30), (TaskDone, 1)], tmp_path)


class StoppedError(Exception):
    """Ends a run in the middle, as a crash would."""


def go_on_for_five_events(build, path):
    """Load the state, if there is one; at the fifth event save it and stop."""
    told = []

    def listen(event):
        told.append(event)
        if len(told) == 5:
            save_checkpoint(path, trainer.state_dict())
            raise StoppedError

    trainer = build([listen])
    if path.exists():
        trainer.load_state_dict(load_checkpoint(path))
    try:
        trainer.run()
    except StoppedError:
        return None
    return trainer


def test_a_run_may_be_stopped_again_and_again(tmp_path):
    def build(listeners=()):
        return small_trainer("icarl", [regularizer("casper")], batch_size=32, listeners=listeners)

    whole, stops = build(), 0
    whole.run()
    while (trainer := go_on_for_five_events(build, tmp_path / "checkpoint.pt")) is None:
        stops += 1
    assert stops >= 5
    assert_same_state(all_but_seconds(trainer.state_dict()), all_but_seconds(whole.state_dict()))
