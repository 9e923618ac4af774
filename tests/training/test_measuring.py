import pytest
import torch

from casper import split_digits
from casper.training import PieceDone, Position, SetTested, measuring
from support import small_trainer


def sets_tested(monkeypatch, trainer, work):
    """Do some measuring; returns the numbers of the test sets, and what else was tested than the method itself."""
    found, twins = [], []

    def evaluate(method, task, kind):
        found.append(task.index)
        if method is not trainer.method:
            twins.append(method)
        return {"class_il": float(len(found)), "task_il": 100.0}

    monkeypatch.setattr(measuring, "evaluate", evaluate)
    work()
    return found, twins


def trainer_after_a_task(**changes):
    trainer = small_trainer("er", stream=split_digits()[:3], **changes)
    trainer.run_phase()
    return trainer


def test_the_tasks_met_so_far_and_the_next_then_the_recalibrated(monkeypatch):
    trainer = trainer_after_a_task(recalibrate=True)
    found, twins = sets_tested(monkeypatch, trainer, lambda: measuring.measure_after_phase(trainer, 1))
    assert found == [0, 1, 2, 0, 1]
    assert len(twins) == 2
    assert twins[0] is twins[1]
    assert trainer.record.matrices["class_il"][1] == [1.0, 2.0, 3.0]
    assert trainer.recalibrated_record.matrices["class_il"][1] == [4.0, 5.0, None]
    assert trainer.position.tested == 5


@pytest.mark.parametrize(
    ("done", "left"), [(0, [0, 1, 2, 0, 1, 2]), (2, [2, 0, 1, 2]), (3, [0, 1, 2]), (5, [2]), (6, [])]
)
def test_what_is_done_is_not_done_again(monkeypatch, done, left):
    trainer = trainer_after_a_task(recalibrate=True)
    trainer.position.tested = done
    assert sets_tested(monkeypatch, trainer, lambda: measuring.measure_after_phase(trainer, 2))[0] == left


def test_the_untrained_network(monkeypatch):
    events = []
    trainer = small_trainer("er", stream=split_digits()[:3], listeners=[events.append])
    trainer.position.tested = 1
    assert sets_tested(monkeypatch, trainer, lambda: measuring.measure_untrained(trainer)) == ([1, 2], [])
    assert trainer.record.untrained["class_il"] == [None, 1.0, 2.0]
    assert events == [SetTested(2, 3), SetTested(3, 3)]
    assert trainer.position == Position.before(0)


def test_the_latent_space_is_measured_once():
    trainer = small_trainer("er")
    trainer.run()
    trainer.latent["knn_5"] = -1.0
    trainer.run()
    assert trainer.latent["knn_5"] == -1.0


def test_features_are_computed_set_by_set_and_kept_until_all_are_there(monkeypatch):
    events, computed = [], []
    trainer = trainer_after_a_task()
    trainer.listeners = [lambda event: events.append((event, len(trainer.features)))]
    trainer.position.tested = 1
    trainer.features.append((torch.ones(4, 32), torch.tensor([0, 0, 1, 1])))
    features_of = measuring.features_of

    def compute(net, images, view, piece):
        computed.append(len(images))
        return features_of(net, images, view, piece)

    monkeypatch.setattr(measuring, "features_of", compute)
    seconds = trainer.seconds["evaluate"]
    measuring.measure_latent_space(trainer)
    assert computed == [len(trainer.stream[1].test), len(trainer.stream[2].test), len(trainer.memory)]
    piece = PieceDone(1)  # these sets are passed at once
    assert events == [(piece, 1), (SetTested(2, 3), 2), (piece, 2), (SetTested(3, 3), 3), (piece, 3)]
    assert trainer.features == []
    assert trainer.latent["same_class_variance"] > 0
    assert trainer.seconds["evaluate"] > seconds


def test_the_latent_space_is_that_of_images_as_the_method_shows_them():
    trainer = small_trainer("scr", stream=split_digits()[:1])
    trainer.run_phase()
    passed = []
    trainer.net.register_forward_pre_hook(lambda _, inputs: passed.append(inputs[0]))
    measuring.measure_latent_space(trainer)
    sets = (trainer.stream[0].test.images, trainer.memory.images)
    assert len(passed) == 2
    for inputs, images in zip(passed, sets, strict=True):
        torch.testing.assert_close(inputs, images.float() / 255)
