import math

import pytest
import torch

from casper.nets import ProxyHead


def test_with_one_proxy_a_score_is_a_scaled_cosine():
    torch.manual_seed(0)
    head, features = ProxyHead(6, 4, num_proxies=1), torch.randn(5, 6)
    cosines = torch.nn.functional.cosine_similarity(features[:, None], head.proxies[:, 0], dim=2)
    torch.testing.assert_close(head(features), -18 * (1 - cosines))


def test_several_proxies_by_hand():
    head = ProxyHead(2, 1, num_proxies=2, scale=1.0)
    head.imprint(0, torch.tensor([[2.0, 0.0], [0.0, 5.0]]))
    scores = head(torch.tensor([[3.0, 0.0]]))
    near, far = 0.0, -2.0  # squared distances 0 and 2 on the unit circle
    weights = [math.exp(near), math.exp(far)]
    torch.testing.assert_close(scores.item(), (weights[0] * near + weights[1] * far) / sum(weights))


def test_scores_do_not_depend_on_lengths():
    torch.manual_seed(0)
    head, features = ProxyHead(6, 4), torch.rand(5, 6)
    before = head(features)
    with torch.no_grad():
        head.proxies *= 7
    torch.testing.assert_close(head(3 * features), before)


def test_initial_proxies_are_uniform_within_their_bound():
    torch.manual_seed(0)
    proxies, bound = ProxyHead(50, 20, num_proxies=5).proxies, 1 / math.sqrt(100)
    assert proxies.shape == (20, 5, 50)
    assert proxies.abs().max() <= bound
    torch.testing.assert_close(proxies.std().item(), bound / math.sqrt(3), atol=0.002, rtol=0)


def test_imprinting_touches_one_class_and_leaves_what_is_not_given():
    torch.manual_seed(0)
    head = ProxyHead(3, 4, num_proxies=3)
    before = head.proxies.detach().clone()
    head.imprint(2, torch.ones(2, 3))
    assert torch.equal(head.proxies[2, :2], torch.ones(2, 3))
    assert torch.equal(head.proxies[2, 2], before[2, 2])
    assert torch.equal(head.proxies[[0, 1, 3]], before[[0, 1, 3]])
    assert head.proxies.requires_grad


def test_features_that_are_all_zero_have_finite_scores_and_gradients():
    head, features = ProxyHead(3, 4), torch.zeros(2, 3, requires_grad=True)
    head(features).sum().backward()
    assert features.grad.isfinite().all()
    assert head.proxies.grad.isfinite().all()


def test_scores_keep_their_digits_under_autocast():
    torch.manual_seed(0)
    head, features = ProxyHead(6, 4), torch.randn(5, 6)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(head(features), head(features.float()), atol=0, rtol=0)
        scores = head(features)
    torch.testing.assert_close(scores, head(features))
    assert scores.dtype == torch.float32


@pytest.mark.parametrize("change", [{"num_proxies": 0}, {"scale": 0.0}, {"scale": math.inf}])
def test_bad_values_are_refused(change):
    with pytest.raises(ValueError, match=f"`{next(iter(change))}` should be"):
        ProxyHead(3, 4, **change)
