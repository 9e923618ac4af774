"""Old names keep working for one release, and say so."""

import pytest

from casper import ER, ERACE, split_digits
from casper.step import Progress, Step
from casper.types import Batch
from support import small_trainer


def renamed(new):
    return pytest.warns(DeprecationWarning, match=rf"is now `.*{new}")


def a_batch(task, size=4):
    return Batch(task.train.images[:size], task.train.labels[:size], task.train.images[:size].float())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tell", "notify"),
        ("book", "stopwatch.add"),
        ("pieces", "work"),
        ("data", "checksums"),
        ("fingerprint", "stream.checksums"),
        ("seconds", "stopwatch.run"),
        ("task_seconds", "stopwatch.task"),
        ("record", "evaluator.record"),
        ("recalibrated_record", "evaluator.recalibrated_record"),
        ("statistics", "evaluator.statistics"),
        ("features", "evaluator.features"),
        ("latent", "evaluator.latent"),
    ],
)
def test_attributes_of_a_trainer(old, new):
    trainer = small_trainer("er", recalibrate=True)
    expected = trainer
    for name in new.split("."):
        expected = getattr(expected, name)
    with renamed(new):
        assert getattr(trainer, old) == expected


def test_the_number_of_classes_of_a_task():
    with renamed("num_seen"):
        assert split_digits()[2].num_met == 6


def test_what_of_a_step_is_learned():
    trainer = small_trainer("er")
    task = trainer.stream[0]
    batch = a_batch(task)
    with renamed("learned"):
        step = trainer.method.make_step(batch, task, Progress(0, 1, 0), learnt=batch)
    with renamed("learned"):
        assert step.learnt is batch
    parts = vars(step)
    parts["learnt"] = parts.pop("learned")
    with renamed("learned"):
        assert Step(**parts).learned is batch


def test_long_computations_of_a_method():
    trainer = small_trainer("er")
    with renamed("compute"):
        assert trainer.method.piece == trainer.method.compute
    attached = {name: getattr(trainer.method, name) for name in ("net", "memory", "transform", "generators")}
    calls = []
    method = ER()
    with renamed("compute"):
        method.attach(**attached, batch_size=16, num_classes=10, piece=calls.append)
    method.compute(1)
    with renamed("compute"):
        method.piece = lambda _: calls.append(2)
    method.compute(3)
    assert calls == [1, 2]


def test_a_subclass_that_overrides_a_method_by_its_old_name_is_heard():
    with renamed("learned_part"):

        class Mine(ERACE):
            def learnt_part(self, batch, task):
                return "mine"

    assert Mine().learned_part(None, None) == "mine"
    task = split_digits()[0]
    with renamed("learned_part"):
        assert len(ERACE().learnt_part(a_batch(task), task)) == 4
