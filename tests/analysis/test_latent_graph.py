import pytest
import torch

from analysis.blobs import blobs
from casper.analysis import latent_graph
from casper.spectral import knn_graph, squared_distances, to_unit_scale


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
