import pytest
import torch

from casper.spectral import squared_distances, squared_distances_backward, to_unit_scale


def random_points(n=7, d=5, seed=0):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_equals_the_double_loop():
    points = random_points()
    expected = torch.stack([torch.stack([(a - b).square().sum() for b in points]) for a in points])
    torch.testing.assert_close(squared_distances(points), expected)


def test_never_negative_and_zero_on_the_diagonal():
    points = (1e3 + random_points(40, 3)).float().repeat(2, 1)
    distances = squared_distances(points)
    assert (distances >= 0).all()
    assert (distances.diagonal() == 0).all()


def test_backward_equals_autograd():
    points = random_points().requires_grad_()
    weights = torch.randn(7, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    differences = points[:, None] - points[None, :]
    (expected,) = torch.autograd.grad((differences.square().sum(2) * weights).sum(), points)
    torch.testing.assert_close(squared_distances_backward(points.detach(), weights), expected)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_unit_scale_keeps_relative_distances(scale):
    points = random_points().float()
    unit, found = to_unit_scale(points * scale + 3 * scale)
    assert unit.abs().max() <= 2
    torch.testing.assert_close(unit * (found / scale), points - points.mean(0), rtol=1e-4, atol=1e-5)


def test_points_that_are_all_zero_stay_zero():
    unit, scale = to_unit_scale(torch.zeros(3, 2))
    assert (unit == 0).all()
    assert scale > 0
