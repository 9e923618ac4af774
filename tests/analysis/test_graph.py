import pytest
import torch

from analysis.blobs import blobs
from casper.analysis import graph as neighbors
from casper.analysis import latent_graph
from casper.analysis.graph import nearest_others
from casper.errors import ParameterError
from casper.spectral import knn_graph, squared_distances, to_unit_scale


def literally(features, num_neighbors):
    chosen = []
    for i, point in enumerate(features):
        distances = [(float((point - other).square().sum()), j) for j, other in enumerate(features) if j != i]
        chosen.append({j for _, j in sorted(distances)[:num_neighbors]})
    return chosen


@pytest.mark.parametrize("held", [2**24, 100, 1])
def test_the_nearest_whatever_the_size_of_a_block(monkeypatch, held):
    monkeypatch.setattr(neighbors, "_DISTANCES", held)
    features = torch.randn(41, 5, generator=torch.Generator().manual_seed(1))
    found = nearest_others(features, 7)
    assert found.shape == (41, 7)
    assert [set(row) for row in found.tolist()] == literally(features.double(), 7)


def test_no_matrix_of_all_distances_is_made(monkeypatch):
    monkeypatch.setattr(neighbors, "_DISTANCES", 1000)
    sizes = []
    product = torch.addmm

    def watched(*arguments, **named):
        result = product(*arguments, **named)
        sizes.append(result.numel())
        return result

    monkeypatch.setattr(torch, "addmm", watched)
    nearest_others(torch.randn(100, 3), 2)
    assert sum(sizes) == 100 * 100
    assert max(sizes) == 1000


def test_far_from_zero_and_close_together():
    features = 1e4 + 1e-2 * torch.tensor([[0.0], [1.0], [3.0], [7.0]])
    assert nearest_others(features, 1).flatten().tolist() == [1, 0, 1, 2]
    assert nearest_others(1e30 * torch.tensor([[0.0], [1.0], [3.0], [7.0]]), 1).flatten().tolist() == [1, 0, 1, 2]


def test_equal_points_are_neighbours_but_never_of_themselves():
    found = nearest_others(torch.zeros(4, 2), 3)
    assert [set(row) for row in found.tolist()] == [{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}]


@pytest.mark.parametrize("number", [0, 4, 5])
def test_a_number_of_neighbours_that_is_not_there_is_named(number):
    with pytest.raises(
        ParameterError, match=rf"`num_neighbors` must be in \[1, 3\], fewer than the 4 .* but got {number}"
    ):
        nearest_others(torch.rand(4, 2), number)


def test_features_are_checked():
    with pytest.raises(ParameterError, match=r"`features` must be a matrix of at least two rows, but got \(1, 2\)"):
        nearest_others(torch.rand(1, 2), 1)
    with pytest.raises(ParameterError, match="finite"):
        nearest_others(torch.full((4, 2), torch.nan), 1)


def dense(features, num_neighbors):
    return knn_graph(squared_distances(to_unit_scale(features)[0]), num_neighbors)


@pytest.mark.parametrize("num_neighbors", [1, 4, 29])
def test_it_is_the_graph_that_the_loss_builds(num_neighbors):
    features = torch.randn(30, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = latent_graph(features, num_neighbors)
    assert torch.equal(torch.from_numpy(found.toarray()), dense(features, num_neighbors))


def test_it_holds_edges_only():
    features, _ = blobs(4, 50)
    graph = latent_graph(features, 3)
    assert 3 * 200 <= graph.nnz <= 2 * 3 * 200
    assert set(graph.data) == {1.0}


def test_a_square_is_a_cycle():
    corners = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert latent_graph(corners, 2).toarray().tolist() == [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]


def test_a_rigid_motion_a_scaling_and_another_order_change_nothing():
    generator = torch.Generator().manual_seed(2)
    features = torch.randn(40, 4, dtype=torch.float64, generator=generator)
    turned, _ = torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64, generator=generator))
    graph = latent_graph(features, 5).toarray()
    assert (latent_graph(17 * features @ turned + 3, 5).toarray() == graph).all()
    order = torch.randperm(40, generator=generator)
    assert (latent_graph(features[order], 5).toarray() == graph[order][:, order]).all()
