import pytest
import torch

from casper.losses import outgrown, transplant

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
