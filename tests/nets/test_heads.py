import math

import pytest
import torch

from casper.nets import PolytopeHead, ProjectionHead, ProxyHead, simplex_vertices


@pytest.mark.parametrize("count", [2, 3, 10, 100])
def test_all_pairs_of_vertices_are_equally_far_apart(count):
    vertices = simplex_vertices(count).double()
    assert vertices.shape == (count - 1, count)
    expected = (count * torch.eye(count) - torch.ones(count, count)).double() / (count - 1)
    torch.testing.assert_close(vertices.T @ vertices, expected, atol=1e-6, rtol=0)
    torch.testing.assert_close(vertices.sum(dim=1), torch.zeros(count - 1).double(), atol=1e-5, rtol=0)


def test_logits_sum_to_zero_and_follow_the_linear_map():
    torch.manual_seed(0)
    head = PolytopeHead(5, 4)
    features = torch.randn(3, 5)
    logits = head(features)
    assert logits.shape == (3, 4)
    torch.testing.assert_close(logits.sum(dim=1), torch.zeros(3), atol=1e-6, rtol=0)
    torch.testing.assert_close(logits, (features @ head.linear.weight.T + head.linear.bias) @ simplex_vertices(4))


def test_the_vertices_are_not_trained_and_not_saved():
    head = PolytopeHead(5, 4)
    assert [name for name, _ in head.named_parameters()] == ["linear.weight", "linear.bias"]
    assert [*head.state_dict()] == ["linear.weight", "linear.bias"]


def test_logits_sum_to_zero_in_half_precision_too():
    torch.manual_seed(0)
    head = PolytopeHead(16, 100)
    with torch.autocast("cpu", torch.bfloat16):
        logits = head(torch.randn(5, 16))
    assert logits.dtype == torch.float32
    torch.testing.assert_close(logits.sum(dim=1), torch.zeros(5), atol=1e-5, rtol=0)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="`num_classes` must be at least 2"):
        PolytopeHead(5, 1)


def head_and_features(dim=6, **changes):
    torch.manual_seed(0)
    return ProjectionHead(dim, **changes), torch.randn(5, dim)


def test_two_layers_with_a_relu_between_them_and_length_one():
    head, features = head_and_features()
    hidden = features @ head.hidden.weight.T + head.hidden.bias
    assert hidden.shape == (5, 6)
    assert (hidden < 0).any()
    expected = torch.where(hidden > 0, hidden, 0) @ head.output.weight.T + head.output.bias
    projections = head(features)
    assert projections.shape == (5, 128)
    torch.testing.assert_close(projections, expected / expected.square().sum(dim=1, keepdim=True).sqrt())


def test_it_is_trained():
    head, features = head_and_features()
    head(features)[:, 0].sum().backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in head.parameters())


def test_projections_have_length_one_in_half_precision_too():
    head, features = head_and_features(16, size=20)
    with torch.autocast("cpu", torch.bfloat16):
        projections = head(features)
    assert projections.dtype == torch.float32
    torch.testing.assert_close(projections.norm(dim=1), torch.ones(5), atol=1e-6, rtol=0)


def test_nothing_projected_has_a_finite_gradient():
    head, features = head_and_features()
    with torch.no_grad():
        head.output.weight.zero_()
        head.output.bias.zero_()
    projections = head(features)
    projections.sum().backward()
    assert projections.abs().max() == 0
    assert all(parameter.grad.isfinite().all() for parameter in head.parameters())


def test_no_dimension_is_refused():
    with pytest.raises(ValueError, match="`size` must be at least 1"):
        ProjectionHead(5, size=0)


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
    with pytest.raises(ValueError, match=f"`{next(iter(change))}` must be"):
        ProxyHead(3, 4, **change)
