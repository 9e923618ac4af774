import math

import torch

from casper.losses import distillation_loss, distillation_targets

PAST = torch.tensor([True, True, False, False, False, False])
SEEN = torch.tensor([True, True, True, True, False, False])


def test_targets_of_a_second_task():
    # A new image of class 3 and an exemplar of class 0; the teacher's logits are 0 and ln 3: 1/2 and 3/4.
    teacher = torch.tensor([[0.0, math.log(3), 9, 9, 9, 9], [math.log(3), 0.0, 9, 9, 9, 9]])
    targets = distillation_targets(torch.tensor([3, 0]), teacher, PAST, 6)
    torch.testing.assert_close(targets[:, SEEN], torch.tensor([[0.5, 0.75, 0, 1], [0.75, 0.5, 0, 0]]))


def test_targets_of_a_first_task_are_the_labels():
    targets = distillation_targets(torch.tensor([1, 0]), None, torch.zeros(3, dtype=torch.bool), 3)
    assert targets.tolist() == [[0, 1, 0], [1, 0, 0]]


def test_zero_logits_cost_ln_2():
    targets = distillation_targets(torch.tensor([1, 0]), None, torch.zeros(6, dtype=torch.bool), 6)
    loss = distillation_loss(torch.zeros(2, 6), targets, SEEN)
    torch.testing.assert_close(loss, torch.tensor(math.log(2)))


def test_the_mean_is_over_items_and_classes_seen():
    logits = torch.tensor([[1.0, -2.0, 0.5, 3.0, 100.0, -100.0]], requires_grad=True)
    targets = torch.tensor([[0.2, 0.9, 0.0, 1.0, 0.0, 1.0]])
    by_hand = [
        -(target * math.log(1 / (1 + math.exp(-u))) + (1 - target) * math.log(1 - 1 / (1 + math.exp(-u))))
        for u, target in zip(logits[0, :4].tolist(), targets[0, :4].tolist(), strict=True)
    ]
    loss = distillation_loss(logits, targets, SEEN)
    torch.testing.assert_close(loss.item(), sum(by_hand) / 4)
    loss.backward()
    assert logits.grad[0, 4:].tolist() == [0.0, 0.0]
