import math

import pytest
import torch

from casper.methods import ICaRL
from support import one_step, small_trainer


def test_one_step_literally():
    step = one_step(ICaRL(), extra_old=2)
    net = step.literal_net()
    teacher = step.method.teacher.double().eval()
    inputs = step.inputs(step.images)
    logits = net(inputs).logits
    answers = teacher(inputs).logits
    assert step.labels.tolist()[-2:] == [0, 0]  # exemplars of the first task among the new images

    loss = 0
    for item in range(16):
        for column in range(6):  # the classes of three tasks
            if column < 4:
                target = 1 / (1 + math.exp(-answers[item, column]))
            else:
                target = 1.0 if step.labels[item] == column else 0.0
            probability = 1 / (1 + torch.exp(-logits[item, column]))
            loss = loss - target * torch.log(probability) - (1 - target) * torch.log(1 - probability)
    loss = loss / (16 * 6)

    assert set(step.terms) == {"distillation"}
    torch.testing.assert_close(step.terms["distillation"].double(), loss, rtol=1e-4, atol=1e-6)
    step.assert_gradients(net, loss)


def test_a_step_of_the_first_task_literally():
    step = one_step(ICaRL(), task=0)
    net = step.literal_net()
    logits = net(step.inputs(step.images)).logits
    assert step.method.teacher is None
    loss = 0
    for item in range(14):
        for column in range(2):
            sign = 1 if step.labels[item] == column else -1
            loss = loss + torch.log(1 + torch.exp(-sign * logits[item, column]))
    loss = loss / (14 * 2)
    torch.testing.assert_close(step.terms["distillation"].double(), loss, rtol=1e-4, atol=1e-6)
    step.assert_gradients(net, loss)


def test_the_decay_of_all_parameters_is_twice_its_weight():
    trainer = small_trainer(ICaRL(weight_decay=0.25), lr=0.1)
    optimizer = trainer.make_optimizer()
    before = [parameter.detach().clone() for parameter in trainer.net.parameters()]
    for parameter in trainer.net.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    assert len(before) == len([*trainer.net.parameters()]) > 4
    for old, new in zip(before, trainer.net.parameters(), strict=True):
        torch.testing.assert_close(new.detach(), old - 0.1 * 2 * 0.25 * old)


def test_the_update_follows_loss_and_decay():
    step = one_step(ICaRL(weight_decay=0.01))
    before = dict(step.net.named_parameters())
    for name, parameter in step.method.net.named_parameters():
        expected = before[name] - 0.05 * (step.gradients[name] + 0.02 * before[name])
        torch.testing.assert_close(parameter, expected)


def test_negative_decay_is_refused():
    with pytest.raises(ValueError, match="`weight_decay` must be a finite number, at least 0"):
        ICaRL(weight_decay=-1)
