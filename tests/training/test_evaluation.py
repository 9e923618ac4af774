from functools import partial

import pytest
import torch

from casper import rotated_digits, split_digits
from casper.memory import reservoir
from casper.methods import Finetune
from casper.nets import batch_norms
from casper.training import PieceDone, SetTested, evaluate, evaluation, recalibrated_statistics, scores, with_statistics
from support import small_trainer


class Scoring(Finetune):
    """Scores every image by a rule, without a network."""

    def __init__(self, rule):
        self.rule = rule
        self.net = torch.nn.Identity()

    def predict(self, images):
        return self.rule(images)


def test_class_il_lets_all_classes_compete_and_task_il_only_the_tasks():
    task = split_digits()[1]  # classes 2 and 3

    def always_0_then_3(images):
        result = torch.zeros(len(images), 10)
        result[:, 0], result[:, 3] = 2, 1
        return result

    share_of_3 = 100 * (task.test.labels == 3).double().mean().item()
    assert evaluate(Scoring(always_0_then_3), task, "class") == {"class_il": 0, "task_il": pytest.approx(share_of_3)}


def test_domain_streams_are_not_masked():
    task = rotated_digits(num_tasks=1)[0]
    found = evaluate(Scoring(lambda images: torch.eye(10)[torch.zeros(len(images)).long()]), task, "domain")
    assert found == {"domain_il": pytest.approx(100 * (task.test.labels == 0).double().mean().item())}


def test_no_score_for_any_of_the_classes_is_no_accuracy():
    task = split_digits()[1]

    def only_0_and_1(images):
        result = torch.full((len(images), 10), -torch.inf)
        result[:, :2] = 0
        return result

    assert evaluate(Scoring(only_0_and_1), task, "class") == {"class_il": None, "task_il": None}


@pytest.mark.parametrize("training", [True, False])
def test_scoring_uses_evaluation_mode_and_restores_the_mode(training):
    trainer = small_trainer("er-ace")
    trainer.net.train(training)
    modes = []
    trainer.net.register_forward_hook(lambda net, *_: modes.append(net.training))
    result = scores(trainer.method, trainer.stream[0].test)
    assert result.shape == (len(trainer.stream[0].test), 10)
    assert not result.requires_grad
    assert modes == [False]
    assert trainer.net.training == training


def test_recalibrated_copy_has_the_statistics_of_the_memory_and_the_same_weights():
    trainer = small_trainer("er-ace")
    for index in range(2):  # five items of each of four classes
        task = trainer.stream[index].train
        rows = torch.cat([(task.labels == label).nonzero().flatten()[:5] for label in task.labels.unique()])
        part = task[rows]
        trainer.memory.insert(part.images, part.labels, policy=reservoir, generator=torch.Generator())
    before = {name: value.clone() for name, value in trainer.net.state_dict().items()}
    statistics = recalibrated_statistics(trainer.method, seed=0, batch_size=20)  # the whole memory in every draw
    copy = with_statistics(trainer.method, statistics)
    assert all(torch.equal(before[name], value) for name, value in trainer.net.state_dict().items())
    for name, parameter in copy.net.named_parameters():
        assert torch.equal(parameter, dict(trainer.net.named_parameters())[name])
    inputs = trainer.stream.transform.test(trainer.memory.images)
    first = trainer.net.backbone.stages[0][0](inputs)
    torch.testing.assert_close(batch_norms(copy.net)[0].running_mean, first.mean((0, 2, 3)), rtol=1e-4, atol=1e-5)


def test_recalibration_draws_nothing_that_training_uses():
    trainer = small_trainer("er-ace")
    trainer.run()
    states = {name: generator.get_state() for name, generator in trainer.generators.items()}
    general = torch.get_rng_state()
    recalibrated_statistics(trainer.method, seed=0, batch_size=16)
    assert all(torch.equal(states[name], generator.get_state()) for name, generator in trainer.generators.items())
    assert torch.equal(general, torch.get_rng_state())


def test_recalibration_works_with_a_single_item():
    trainer = small_trainer("er", buffer_size=1)
    trainer.run()
    copy = with_statistics(trainer.method, recalibrated_statistics(trainer.method, 0, 16))
    assert scores(copy, trainer.stream[0].test).isfinite().all()


def sets_tested(monkeypatch, trainer, work):
    """Do some measuring; returns the numbers of the test sets, and what else was tested than the method itself."""
    found, twins = [], []

    def evaluate(method, task, kind):
        found.append(task.index)
        if method is not trainer.method:
            twins.append(method)
        return {"class_il": float(len(found)), "task_il": 100.0}

    monkeypatch.setattr(evaluation, "evaluate", evaluate)
    work()
    return found, twins


def measure(trainer, tests):
    """Make a measurement as the trainer does."""
    for total in tests(trainer.position.tested):
        trainer.position.tested += 1
        trainer.notify(SetTested(trainer.position.tested, total))
    trainer.stopwatch.add("evaluate")


def trainer_after_a_task(**changes):
    trainer = small_trainer("er", stream=split_digits()[:3], **changes)
    trainer.run_phase()
    return trainer


def test_the_tasks_seen_so_far_and_the_next_then_the_recalibrated(monkeypatch):
    trainer = trainer_after_a_task(recalibrate=True)
    found, twins = sets_tested(monkeypatch, trainer, lambda: measure(trainer, partial(trainer.evaluator.test_after, 1)))
    assert found == [0, 1, 2, 0, 1]
    assert len(twins) == 2
    assert twins[0] is twins[1]
    assert trainer.evaluator.record.matrices["class_il"][1] == [1.0, 2.0, 3.0]
    assert trainer.evaluator.recalibrated_record.matrices["class_il"][1] == [4.0, 5.0, None]
    assert trainer.position.tested == 5


@pytest.mark.parametrize(
    ("done", "left"), [(0, [0, 1, 2, 0, 1, 2]), (2, [2, 0, 1, 2]), (3, [0, 1, 2]), (5, [2]), (6, [])]
)
def test_what_is_done_is_not_done_again(monkeypatch, done, left):
    trainer = trainer_after_a_task(recalibrate=True)
    trainer.position.tested = done
    assert (
        sets_tested(monkeypatch, trainer, lambda: measure(trainer, partial(trainer.evaluator.test_after, 2)))[0] == left
    )


def test_the_untrained_network(monkeypatch):
    events = []
    trainer = small_trainer("er", stream=split_digits()[:3], listeners=[events.append])
    trainer.position.tested = 1
    assert sets_tested(monkeypatch, trainer, lambda: measure(trainer, trainer.evaluator.test_untrained)) == ([1, 2], [])
    assert trainer.evaluator.record.untrained["class_il"] == [None, 1.0, 2.0]
    assert events == [SetTested(2, 3), SetTested(3, 3)]


def test_the_latent_space_is_measured_once():
    trainer = small_trainer("er")
    trainer.run()
    trainer.evaluator.latent["knn_5"] = -1.0
    trainer.run()
    assert trainer.evaluator.latent["knn_5"] == -1.0


def test_features_are_stored_until_all_sets_are_done(monkeypatch):
    events, computed = [], []
    trainer = trainer_after_a_task()
    trainer.listeners = [lambda event: events.append((event, len(trainer.evaluator.features)))]
    trainer.position.tested = 1
    trainer.evaluator.features.append((torch.ones(4, 32), torch.tensor([0, 0, 1, 1])))
    features_of = evaluation.features_of

    def compute(net, images, view, piece):
        computed.append(len(images))
        return features_of(net, images, view, piece)

    monkeypatch.setattr(evaluation, "features_of", compute)
    seconds = trainer.stopwatch.run["evaluate"]
    measure(trainer, trainer.evaluator.summarize_latent_space)
    assert computed == [len(trainer.stream[1].test), len(trainer.stream[2].test), len(trainer.memory)]
    piece = PieceDone(1)  # these sets are passed at once
    assert events == [(piece, 1), (SetTested(2, 3), 2), (piece, 2), (SetTested(3, 3), 3), (piece, 3)]
    assert trainer.evaluator.features == []
    assert trainer.evaluator.latent["same_class_variance"] > 0
    assert trainer.stopwatch.run["evaluate"] > seconds


def test_the_latent_space_is_that_of_images_as_the_method_shows_them():
    trainer = small_trainer("scr", stream=split_digits()[:1])
    trainer.run_phase()
    passed = []
    trainer.net.register_forward_pre_hook(lambda _, inputs: passed.append(inputs[0]))
    measure(trainer, trainer.evaluator.summarize_latent_space)
    sets = (trainer.stream[0].test.images, trainer.memory.images)
    assert len(passed) == 2
    for inputs, images in zip(passed, sets, strict=True):
        torch.testing.assert_close(inputs, images.float() / 255)
