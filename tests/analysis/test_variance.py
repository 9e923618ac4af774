import pytest
import torch

from casper.analysis import same_class_variance, total_variance
from casper.errors import ParameterError


def test_two_classes_by_hand():
    features = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0], [0.0, 4.0]])
    labels = torch.tensor([5, 5, 9, 9])
    assert same_class_variance(features[:2], labels[:2]) == 0.5
    assert same_class_variance(features[2:], labels[2:]) == 2.0
    assert same_class_variance(features, labels) == 1.25
    assert same_class_variance(features + 1000, labels) == pytest.approx(1.25)
    assert same_class_variance(10 * features, labels) == pytest.approx(125)


def test_classes_count_alike_whatever_their_size():
    features = torch.tensor([[0.0], [2.0], [7.0], [7.0], [7.0], [7.0]])
    assert same_class_variance(features, torch.tensor([0, 0, 1, 1, 1, 1])) == 0.5


def test_total_variance_ignores_classes():
    assert total_variance(torch.tensor([[0.0, 1.0], [2.0, 1.0]])) == 0.5


def test_bad_input_is_named():
    with pytest.raises(ParameterError, match="`features` should be finite"):
        same_class_variance(torch.full((2, 2), torch.nan), torch.zeros(2))
    with pytest.raises(ParameterError, match="`labels` should be one for each of 2 points"):
        same_class_variance(torch.rand(2, 2), torch.zeros(3))
    for measure in (lambda features: same_class_variance(features, torch.zeros(0)), total_variance):
        with pytest.raises(ParameterError, match="`features` should be of at least one row"):
            measure(torch.rand(0, 2))
