import torch

from casper.losses import future_violation, mean_violation, past_violation

PAST = torch.tensor([True, True, False, False, False])
PRESENT = torch.tensor([False, False, True, True, False])
FUTURE = torch.tensor([False, False, False, False, True])


def test_past_violation_is_in_probabilities():
    probabilities = torch.tensor([[0.5, 0.05, 0.4, 0.05]])
    logits = torch.cat([probabilities.log(), torch.tensor([[50.0]])], dim=1)  # the future plays no part
    torch.testing.assert_close(past_violation(logits, PAST, PRESENT, 0.3), torch.tensor([0.4]))


def test_past_violation_raises_the_present_and_holds_the_past():
    logits = torch.tensor([[1.0, 0.0, 0.5, 0.0, 9.0]], requires_grad=True)
    past_violation(logits, PAST, PRESENT, 0.3).sum().backward()
    probabilities = logits[:, :4].softmax(dim=1).detach()
    # Only -max_present q has a gradient: -q_2 (1[c = 2] - q_c).
    expected = -probabilities[0, 2] * (torch.tensor([0.0, 0, 1, 0]) - probabilities[0])
    torch.testing.assert_close(logits.grad[0, :4], expected)
    assert logits.grad[0, 4] == 0


def test_future_violation_is_in_logits():
    logits = torch.tensor([[7.0, 7.0, 2.0, 0.0, 1.0]])
    torch.testing.assert_close(future_violation(logits, FUTURE, PRESENT, 0.3), torch.tensor([-0.7]))
    assert mean_violation(future_violation(logits, FUTURE, PRESENT, 0.3)) == 0


def test_future_violation_of_items_of_several_tasks():
    logits = torch.tensor([[3.0, 0.0, 1.0, 0.0, 2.0], [3.0, 0.0, 1.0, 0.0, 2.0]])
    own = torch.stack([PAST, PRESENT])
    torch.testing.assert_close(future_violation(logits, FUTURE, own, 0.3), torch.tensor([-0.7, 1.3]))


def test_future_violation_has_a_gradient_to_both_sides():
    logits = torch.tensor([[0.0, 0.0, 2.0, 0.0, 3.0]], requires_grad=True)
    future_violation(logits, FUTURE, PRESENT, 0.3).sum().backward()
    assert logits.grad.tolist() == [[0.0, 0.0, -1.0, 0.0, 1.0]]


def test_the_mean_is_over_what_is_violated():
    violations = torch.tensor([1.0, -5.0, 3.0, 0.0], requires_grad=True)
    mean = mean_violation(violations)
    assert mean.item() == 2.0
    mean.backward()
    assert violations.grad.tolist() == [0.5, 0.0, 0.5, 0.0]


def test_nothing_violated_is_zero_with_a_zero_gradient():
    violations = torch.tensor([-1.0, -2.0], requires_grad=True)
    mean_violation(violations).backward()
    assert violations.grad.tolist() == [0.0, 0.0]
