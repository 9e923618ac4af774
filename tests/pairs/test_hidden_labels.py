"""What is hidden stays hidden, from every method that can do without and from the regularizers beside it."""

import pytest
import torch

from casper import split_digits
from casper.experiments import METHODS, REGULARIZERS
from support import assert_same_state, hiding_labels, nine_in_ten, regularizer, small_trainer

ABLE = [name for name, method in METHODS.items() if method.takes_unlabelled]


def hidden(labels):
    """Mark all of class 3, and most of the others."""
    return (labels == 3) | nine_in_ten(labels)


def run(method, name, relabel=lambda labels: labels):
    stream = hiding_labels(split_digits()[:2], hidden, relabel)
    trainer = small_trainer(method, [regularizer(name)], stream=stream, epochs=2)
    metrics = trainer.run()
    return trainer, {**metrics, "seconds": None}


@pytest.mark.parametrize("name", REGULARIZERS)
@pytest.mark.parametrize("method", ABLE)
def test_whatever_the_hidden_items_are_in_truth_the_run_is_the_same(method, name):
    trainer, metrics = run(method, name)
    other, other_metrics = run(method, name, lambda labels: torch.where(hidden(labels), (labels + 1) % 4, labels))
    assert other_metrics == metrics
    assert_same_state({**other.state_dict(), "seconds": None}, {**trainer.state_dict(), "seconds": None})
    assert (trainer.memory.labels >= 0).all()
    if not METHODS[method].makes_labels:
        assert set(trainer.memory.labels.tolist()) == {0, 1, 2}


def test_the_methods_are_those_of_the_table():
    assert set(ABLE) == {"er-ace", "pser-ace", "ccic"}
