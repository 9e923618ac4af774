import pytest
import torch

from casper import rotated_digits, split_digits
from casper.memory import reservoir
from casper.methods import Finetune
from casper.nets import batch_norms
from casper.training import evaluate, recalibrated_statistics, scores, with_statistics
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
