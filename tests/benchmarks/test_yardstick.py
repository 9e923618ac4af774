import pytest
import torch
from spectral_gap import clustered_features, plain_spectral_gap_loss
from timing import median_seconds

from casper import spectral_gap_loss


@pytest.mark.parametrize(("n", "p", "k"), [(64, 16, 4), (64, 8, 8), (210, 16, 4)])
def test_the_yardstick_computes_the_same_loss_and_gradient(n, p, k):
    features = clustered_features(n, 32, p).requires_grad_()
    plain, ours = plain_spectral_gap_loss(features, p, k), spectral_gap_loss(features, p, k)
    assert ours.item() == pytest.approx(plain.item(), abs=1e-4)
    expected, found = (torch.autograd.grad(loss, features)[0] for loss in (plain, ours))
    assert (found - expected).norm() <= 1e-4 * expected.norm()


def test_contestants_take_turns():
    calls = []
    seconds = median_seconds({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=3)
    assert calls == ["a", "b"] * 5
    assert set(seconds) == {"a", "b"}
