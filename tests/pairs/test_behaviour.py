"""Every method learns: on the bundled digits, with its preset, between the lower and the upper bound."""

from functools import cache

import pytest

from casper.config import METHODS, resolve_config
from casper.runs import build_trainer

SEEDS = range(2)  # the bounds below are tens of points away
BOUNDS = ("finetune", "joint")


@cache
def mean_accuracy(method):
    """The final average accuracy over two seeds, without a regularizer, in percent."""
    finals = []
    for seed in SEEDS:
        metrics = build_trainer(resolve_config({"method": method, "regularizer": ["none"], "seed": seed})).run()
        finals.append(metrics["class_il"]["final_average_accuracy"])
    return sum(finals) / len(finals)


def test_finetuning_ends_with_the_last_task_alone():
    assert 17 < mean_accuracy("finetune") <= 20


@pytest.mark.parametrize("method", [name for name in METHODS if name not in BOUNDS])
def test_rehearsal_ends_between_the_bounds(method):
    assert mean_accuracy("finetune") + 30 <= mean_accuracy(method) <= mean_accuracy("joint") + 3
