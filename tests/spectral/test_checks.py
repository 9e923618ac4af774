import pytest
import torch

from casper.errors import ParameterError
from casper.spectral import all_finite, check_features


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([[1.0]], "`points` must be a dense tensor, but got list"),
        (torch.rand(3, 2).to_sparse(), "`points` must be a dense tensor, but got Tensor torch.sparse_coo"),
        (torch.tensor(1.0), r"`points` must be a matrix of shape \(n, d\), but got shape \(\)"),
        (torch.rand(3), r"`points` must be a matrix of shape \(n, d\), but got shape \(3,\)"),
        (torch.ones(3, 2, dtype=torch.long), r"`points` must be of a floating-point type, but got torch.int64"),
        (torch.rand(3, 0), r"`points` must be a matrix with at least one column, but got shape \(3, 0\)"),
        (
            torch.tensor([[1.0, torch.nan], [torch.inf, 0.0]]),
            r"`points` must be finite, but got infinite or NaN .*\(2 of 4\)",
        ),
    ],
)
def test_what_is_wrong_is_named(features, message):
    with pytest.raises(ParameterError, match=message):
        check_features(features, "points")


def test_any_number_of_rows_is_valid():
    check_features(torch.rand(0, 3))
    check_features(torch.rand(4, 3).half())


@pytest.mark.parametrize("bad", [torch.inf, -torch.inf, torch.nan])
def test_one_value_is_enough(bad):
    features = torch.rand(4, 3)
    assert all_finite(features)
    features[2, 1] = bad
    assert not all_finite(features)
