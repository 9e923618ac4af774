import pytest
import torch

from casper.spectral import squared_distances, squared_distances_backward, to_unit_scale
from casper.spectral.distances import refine_small_distances


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


def test_small_distances_are_refined_and_all_others_stay():
    points = torch.randn(30, 8, generator=torch.Generator().manual_seed(0))
    points[1], points[3] = points[0] + 1e-4, points[2]
    distances = squared_distances(points)
    refined = refine_small_distances(points, distances)
    exact = (points[:, None].double() - points[None, :].double()).square().sum(2)
    assert distances[0, 1] / exact[0, 1] != pytest.approx(1, abs=0.1)  # rounding noise
    assert refined[0, 1].item() == refined[1, 0].item() == pytest.approx(exact[0, 1].item(), rel=1e-6)
    assert refined[2, 3] == refined[3, 2] == 0
    others = torch.ones_like(distances, dtype=torch.bool)
    others[[0, 1, 2, 3], [1, 0, 3, 2]] = False
    assert torch.equal(refined[others], distances[others])


def test_points_that_all_coincide_are_refined_to_zero():
    points = torch.full((5, 3), 0.1)
    assert (refine_small_distances(points, torch.full((5, 5), 1e-9)).fill_diagonal_(0) == 0).all()
