import pytest
import torch

from casper.spectral import knn_graph, nearest_neighbors, soft_neighbors, soft_neighbors_backward, squared_distances


def line(*positions):
    return squared_distances(torch.tensor(positions, dtype=torch.float64)[:, None])


def test_nearest_neighbors_of_points_on_a_line():
    expected = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    assert nearest_neighbors(line(0, 1, 10, 11), 1).int().tolist() == expected


def test_an_edge_stands_where_either_end_chose_it():
    # 2 chooses 1, which chooses 0: the edge 1-2 exists although 1 did not choose it.
    assert knn_graph(line(0.0, 1.0, 2.5), 1).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("num_neighbors", [1, 3, 7, 100])
def test_graph_is_binary_symmetric_and_loopless(num_neighbors):
    points = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
    graph = knn_graph(squared_distances(points), num_neighbors)
    assert set(graph.unique().tolist()) <= {0.0, 1.0}
    assert torch.equal(graph, graph.T)
    assert (graph.diagonal() == 0).all()
    assert (graph.sum(1) >= min(num_neighbors, 7)).all()


def test_a_point_that_is_its_own_neighbor_chooses_one_other_less():
    distances = line(0.0, 1.0, 10.0, 11.0)
    expected = knn_graph(distances, 1) + torch.eye(4)
    assert torch.equal(knn_graph(distances, 2, self_neighbor=True), expected)


def test_soft_rounds_of_one_row():
    logits = -torch.tensor([[torch.inf, 0.0, 1.0, 4.0]])
    first, second = soft_neighbors(logits, 2)
    torch.testing.assert_close(first, torch.tensor([[0.0, 0.7214, 0.2654, 0.0132]]), atol=5e-5, rtol=0)
    torch.testing.assert_close(second, torch.tensor([[0.0, 0.4914, 0.4767, 0.0319]]), atol=5e-5, rtol=0)


def test_each_row_of_the_soft_graph_sums_to_the_number_of_rounds():
    logits = -line(0.0, 0.3, 1.0, 1.7, 2.2).fill_diagonal_(torch.inf)
    total = torch.stack(soft_neighbors(logits, 3)).sum(0)
    torch.testing.assert_close(total.sum(1), torch.full((5,), 3.0, dtype=torch.float64))


def test_backward_equals_autograd():
    generator = torch.Generator().manual_seed(0)
    logits = -torch.rand(5, 5, generator=generator, dtype=torch.float64).fill_diagonal_(torch.inf)
    weights = torch.randn(5, 5, generator=generator, dtype=torch.float64)
    leaf = logits.clone().requires_grad_()
    current, total = leaf, torch.zeros(())
    for _ in range(3):
        weight = current.softmax(1)
        total = total + (weight * weights).sum()
        current = current + torch.log(1 - weight + 1e-7)
    (expected,) = torch.autograd.grad(total, leaf)
    found = soft_neighbors_backward(soft_neighbors(logits, 3), weights)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_no_rounds_give_no_gradient():
    assert (soft_neighbors_backward([], torch.ones(3, 3)) == 0).all()


@pytest.mark.parametrize(
    ("dtype", "distance", "second_round"),
    [
        (torch.float32, 10.0, [0.5, 0.5, 0]),
        (torch.float32, 20.0, [0, 1, 0]),  # the reference: the nearest point has left
        (torch.float64, 20.0, [0.5, 0.5, 0]),  # it stays, tied with the second nearest
        (torch.float64, 40.0, [0, 1, 0]),
    ],
)
def test_when_the_nearest_point_leaves_depends_on_the_type(dtype, distance, second_round):
    logits = torch.tensor([[0, -distance, -3 * distance]], dtype=dtype)
    first, second = soft_neighbors(logits, 2)
    torch.testing.assert_close(first, torch.tensor([[1.0, 0, 0]], dtype=dtype), rtol=0, atol=1e-4)
    torch.testing.assert_close(second, torch.tensor([second_round], dtype=dtype), rtol=0, atol=1e-3)
