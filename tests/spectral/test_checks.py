import numpy as np
import pytest
import torch

from casper.errors import ParameterError
from casper.spectral import all_finite, check_features
from casper.spectral.checks import check_count


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([[1.0]], "`points` must be a dense tensor, but got list"),
        (torch.rand(3, 2).to_sparse(), "`points` must be a dense tensor, but got Tensor torch.sparse_coo"),
        (torch.rand(3, 2, device="meta"), "`points` must be a tensor with values, but got one on the device 'meta'"),
        (torch.rand(3, 2).to(torch.float8_e4m3fn), "`points` must be float16, .* but got torch.float8_e4m3fn"),
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


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_nested_tensor_is_named():
    with pytest.raises(ParameterError, match="`points` must be a dense tensor, but got a nested tensor"):
        check_features(torch.nested.nested_tensor([torch.rand(2), torch.rand(3)]), "points")


def test_any_number_of_rows_is_valid():
    check_features(torch.rand(0, 3))
    check_features(torch.rand(4, 3).half())


@pytest.mark.parametrize("value", [2.0, "2", None, True, [2], torch.tensor([2, 3]), float("inf"), 0, -1])
def test_a_count_is_an_integer_of_at_least_one(value):
    with pytest.raises(ParameterError, match=r"^`size` must be (an integer|at least 1), but got .+$"):
        check_count(value, "size")
    check_count(1, "size")
    check_count(np.int64(3), "size")


@pytest.mark.parametrize("bad", [torch.inf, -torch.inf, torch.nan])
def test_one_value_is_enough(bad):
    features = torch.rand(4, 3)
    assert all_finite(features)
    features[2, 1] = bad
    assert not all_finite(features)
