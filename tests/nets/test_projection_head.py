import pytest
import torch

from casper.nets import ProjectionHead


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
    with pytest.raises(ValueError, match="`size` should be at least 1"):
        ProjectionHead(5, size=0)
