import pytest
import torch

from casper.losses import future_violation, mean_violation, outgrown, past_violation, transplant

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


COLUMNS = torch.tensor([False, False, True, True])
LABELS = torch.tensor([1])


@pytest.mark.parametrize(
    ("segment", "expected"), [([4.0, 1.0], [1.7, 0.425]), ([1.0, 0.5], [1.0, 0.5]), ([2.0, -1.0], [2.0, -1.0])]
)
def test_a_segment_that_outgrows_the_true_logit_is_scaled_as_a_whole(segment, expected):
    stored, current = torch.tensor([[0.3, 2.0, 9.0, 9.0]]), torch.tensor([[5.0, 5.0, *segment]])
    result = transplant(stored, current, LABELS, COLUMNS, 0.85)
    torch.testing.assert_close(result, torch.tensor([[0.3, 2.0, *expected]]))
    assert stored.tolist() == [[pytest.approx(0.3), 2.0, 9.0, 9.0]]


def test_the_true_logit_stays_on_top_by_gamma():
    generator = torch.Generator().manual_seed(0)
    stored, current = (torch.rand(50, 4, generator=generator) * 5 for _ in range(2))
    labels = torch.randint(2, (50,), generator=generator)
    result = transplant(stored, current, labels, COLUMNS, 0.85)
    truth = stored.gather(1, labels[:, None]).squeeze(1)
    largest = current[:, 2:].amax(dim=1)
    assert (largest > truth).any()
    torch.testing.assert_close(result[:, 2:].amax(dim=1), torch.where(largest > truth, 0.85 * truth, largest))


def test_logits_may_be_transplanted_into_themselves():
    logits = torch.tensor([[3.0, 1.0, 2.0, 0.0]])
    result = transplant(logits, logits, torch.tensor([2]), torch.tensor([True, True, False, False]), 0.85)
    torch.testing.assert_close(result, torch.tensor([[1.7, 1.7 / 3, 2.0, 0.0]]))


def test_a_largest_logit_of_zero_is_not_divided_by():
    stored, current = torch.tensor([[0.3, -2.0, 9.0, 9.0]]), torch.tensor([[5.0, 5.0, 0.0, -1.0]])
    assert transplant(stored, current, LABELS, COLUMNS, 0.85)[0, 2:].tolist() == [0.0, -1.0]


def test_rows_scaled_by_a_true_logit_that_is_not_positive_are_marked():
    stored = torch.tensor([[0.0, -1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    current = torch.tensor([[0.0, 0.0, 2.0, 1.0], [0.0, 0.0, 2.0, 1.0], [0.0, 0.0, -2.0, -3.0], [0.0, 0.0, 1.0, 0.0]])
    labels = torch.tensor([1, 1, 1, 1])
    assert outgrown(stored, current, labels, COLUMNS).tolist() == [True, False, False, True]
