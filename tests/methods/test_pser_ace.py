import pytest
import torch

from casper import split_digits
from casper.methods import ERACE, PsERACE
from casper.step import Progress
from casper.streams import hide_labels
from casper.types import Batch
from support import assert_same_state, small_trainer, without_seconds


def trainer_of(method, **changes):
    stream = hide_labels(split_digits()[:2], per_class=6)
    return small_trainer(method, stream=stream, **{"buffer_size": 40, "epochs": 2, **changes})


def batch_of(trainer, labels, task=1):
    part = trainer.stream[task].train[torch.arange(len(labels))]
    return Batch(part.images, torch.tensor(labels), trainer.stream.transform.test(part.images))


def with_logits(trainer, logits):
    """Make the network return these logits, and record the mode in which it is called."""
    modes = []

    def answer(inputs):
        modes.append((trainer.net.training, torch.is_grad_enabled()))
        return logits[: len(inputs)]

    trainer.net.head.forward = lambda features: answer(features)
    return modes


def test_sure_answers_become_labels_and_others_are_dropped():
    trainer = trainer_of(PsERACE())
    logits = torch.zeros(4, 10)
    logits[:, 0] = 99.0  # of another task
    logits[0, 2], logits[1, 3], logits[2, 3], logits[3, 2] = 5.6, 5.6, 5.4, 9.0
    modes = with_logits(trainer, logits)
    step = trainer.method.draw(batch_of(trainer, [-1, -1, -1, 3]), trainer.stream[1], Progress(0, 1, 0))
    assert step.known.labels.tolist() == [2, 3, 3]  # the last is true, whatever the network says
    assert torch.equal(step.known.images, step.stream.images[[0, 1, 3]])
    assert torch.equal(step.known.inputs, step.stream.inputs[[0, 1, 3]])
    assert step.stream.labels.tolist() == [-1, -1, -1, 3]
    assert modes == [(False, False)]
    assert trainer.net.training


def test_what_it_labelled_enters_the_memory_and_is_not_trusted():
    trainer = trainer_of(PsERACE(threshold=0.0))
    trainer.run()
    assert (trainer.memory.labels >= 0).all()
    assert trainer.memory.seen == 2 * sum(len(task.train) for task in trainer.stream)  # all were labelled, twice
    step = trainer.method.draw(batch_of(trainer, [2, -1]), trainer.stream[1], Progress(0, 1, 0))
    assert step.hides_labels
    assert not step.trusts_labels


@pytest.mark.parametrize("hide", [True, False])
def test_an_unreachable_threshold_and_complete_labels_equal_er_ace(hide):
    build = trainer_of if hide else small_trainer
    one, other = build(PsERACE(threshold=1e9)), build(ERACE())
    one.run()
    other.run()
    assert_same_state(without_seconds(one.state_dict()), without_seconds(other.state_dict()))


def test_it_learns_more_than_er_ace_drops():
    pseudo, plain = trainer_of(PsERACE(threshold=1.0)), trainer_of(ERACE())
    pseudo.run()
    plain.run()
    assert pseudo.memory.seen > plain.memory.seen == 2 * 24


@pytest.mark.parametrize("threshold", [-1.0, float("nan"), float("inf")])
def test_a_bad_threshold_is_named(threshold):
    with pytest.raises(ValueError, match="threshold"):
        PsERACE(threshold=threshold)
