import pytest
import torch

from casper.losses import pseudo_labels

COLUMNS = torch.tensor([4, 5])


def logits(*pairs):
    """Logits of six classes; the first four, which do not compete, are higher than all others."""
    return torch.tensor([[100.0, 99.0, 98.0, 97.0, *pair] for pair in pairs])


@pytest.mark.parametrize(("lead", "label"), [(5.4, -1), (5.5, -1), (5.6, 5), (-5.6, 4)])
def test_a_class_must_lead_by_more_than_the_threshold(lead, label):
    assert pseudo_labels(torch.tensor([-1]), logits((0.0, lead)), COLUMNS, 5.5).tolist() == [label]


def test_true_labels_stay():
    found = pseudo_labels(torch.tensor([4, -1, 4, -1]), logits((0, 9), (0, 9), (0, 1), (0, 1)), COLUMNS, 5.5)
    assert found.tolist() == [4, 5, 4, -1]


def test_columns_may_be_in_any_order():
    assert pseudo_labels(torch.tensor([-1]), logits((0.0, 9.0)), torch.tensor([5, 4]), 5.5).tolist() == [5]


def test_a_class_alone_leads():
    assert pseudo_labels(torch.tensor([-1, 0]), logits((0.0, 0.0), (0.0, 0.0)), COLUMNS[:1], 5.5).tolist() == [4, 0]
