import pytest
import torch

from casper.nets import PolytopeHead, simplex_vertices


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
    with pytest.raises(ValueError, match="`num_classes` should be at least 2"):
        PolytopeHead(5, 1)
