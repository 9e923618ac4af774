import torch

from analysis.blobs import blobs
from casper.analysis import latent_graph, small_graph, spectrum


def test_three_classes_that_are_apart():
    features, labels = blobs(3, 8)
    found = small_graph(features, labels, 4)
    graph = latent_graph(features, 4)
    assert len(found["edges"]) == graph.nnz // 2
    assert all(i < j and graph[i, j] == 1 for i, j in found["edges"])
    assert all(labels[i] == labels[j] for i, j in found["edges"])
    assert (found["num_classes"], found["num_components"]) == (3, 3)
    assert found["labels"] == labels.tolist()
    assert found["eigengap"] == spectrum(features, 24, 4).gap(3) > 0.1
    assert len(found["eigenvalues"]) == 24
    assert torch.tensor(found["points"]).shape == (24, 2)


def test_every_item_a_class_of_its_own_has_no_gap():
    assert small_graph(torch.rand(12, 4), torch.arange(12))["eigengap"] is None
