"""What is hidden stays hidden, from every method that can do without and from the regularizers beside it."""

import pytest
import torch

from casper import split_digits
from casper.config import METHODS, REGULARIZERS
from casper.regularizers import cscct
from casper.streams import hide_labels
from support import WITHOUT_EFFECT, assert_same_state, regularizer, small_trainer, without_seconds

ABLE = [name for name, method in METHODS.items() if method.takes_unlabelled]


def trainer_of(method, parts=(), **changes):
    stream = hide_labels(split_digits()[:2], per_class=6)
    return small_trainer(method, parts, stream=stream, **{"epochs": 2, "buffer_size": 40, **changes})


def key(image):
    return bytes(image.flatten().tolist())


def kept_labels():
    """The true labels of the images whose label is kept, by image: six of each of four classes."""
    shown = hide_labels(split_digits()[:2], per_class=6)
    kept = {
        key(image): int(truth)
        for task, whole in zip(shown, split_digits()[:2], strict=True)
        for image, label, truth in zip(task.train.images, task.train.labels, whole.train.labels, strict=True)
        if label >= 0
    }
    assert len(kept) == 24
    return kept


@pytest.mark.parametrize("name", REGULARIZERS)
@pytest.mark.parametrize("method", ABLE)
def test_only_kept_labels_reach_loss_and_memory(method, name, monkeypatch):
    trainer, learnt, kept = trainer_of(method, [regularizer(name)]), set(), kept_labels()
    losses, gather = trainer.method.losses, cscct._items

    def recording(step, passes):
        for items in (step.known, trainer.memory):
            learnt.update(zip(map(key, items.images), items.labels.tolist(), strict=True))
        return losses(step, passes)

    def checked(step, generator):
        inputs, labels = gather(step, generator)
        assert (labels >= 0).all()
        shown = int((step.stream.labels >= 0).sum())
        assert torch.equal(labels[:shown], step.stream.labels[step.stream.labels >= 0])
        return inputs, labels

    trainer.method.losses = recording
    monkeypatch.setattr(cscct, "_items", checked)
    trainer.run()
    assert {(image, label) for image, label in learnt if image in kept} == set(kept.items())
    if not METHODS[method].makes_labels:
        assert learnt == set(kept.items())


@pytest.mark.parametrize("name", REGULARIZERS)
@pytest.mark.parametrize("method", ABLE)
def test_without_effect_is_the_same_as_absent(method, name):
    plain, absent = trainer_of(method), trainer_of(method, [regularizer(name, **WITHOUT_EFFECT[name])])
    plain.run()
    absent.run()
    assert_same_state(without_seconds(absent.state_dict()), without_seconds(plain.state_dict()))


def test_the_control_ends_with_the_plain_weights():
    plain, control = trainer_of("er-ace"), trainer_of("er-ace", [regularizer("forward-only")])
    plain.run()
    control.run()
    for (_, one), (_, other) in zip(plain.net.named_parameters(), control.net.named_parameters(), strict=True):
        assert torch.equal(one, other)
    assert not torch.equal(*(next(trainer.net.buffers()) for trainer in (plain, control)))


def test_the_methods_are_those_of_the_table():
    assert set(ABLE) == {"er-ace", "pser-ace", "ccic"}
