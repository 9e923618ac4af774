import pytest
import torch

from analysis.blobs import blobs
from casper.analysis import highest_purity, latent_graph, neighborhood_purity, small_graph, spectrum, tsne_embedding
from casper.errors import ParameterError


def test_groups_stay_together_and_the_same_seed_gives_the_same_picture():
    features, labels = blobs(3, 20)
    points = tsne_embedding(features, perplexity=10)
    assert points.shape == (60, 2)
    assert neighborhood_purity(points, labels, 5) == 100
    assert torch.equal(points, tsne_embedding(features, perplexity=10))
    assert torch.isfinite(points).all()


def test_perplexity_is_used():
    features, _ = blobs(1, 60)
    first = tsne_embedding(features, perplexity=5)
    assert not torch.equal(first, tsne_embedding(features, perplexity=20))


def test_purity_by_hand():
    points = torch.tensor([[0.0], [1.0], [3.0], [7.0], [8.0]])
    labels = torch.tensor([0, 0, 1, 1, 1])
    assert neighborhood_purity(points, labels, 1) == pytest.approx(100 * 4 / 5)  # 1, 0, then 1 (of class 0), 8, 7
    assert neighborhood_purity(points, labels, 4) == pytest.approx(100 * (1 + 1 + 2 + 2 + 2) / 20)


@pytest.mark.parametrize("scale", [1e-25, 1.0, 1e25])
def test_scale_and_place_do_not_matter(scale):
    features, labels = blobs(3, 20)
    points = tsne_embedding((scale * (features + 1e3)).float(), perplexity=10)
    assert neighborhood_purity(points, labels, 5) == 100


def test_the_highest_purity_is_what_class_sizes_allow():
    labels = torch.tensor([0, 0, 0, 1, 1, 2])
    assert highest_purity(labels, 2) == pytest.approx(100 * (2 + 2 + 2 + 1 + 1 + 0) / 12)
    assert highest_purity(labels, 1) == pytest.approx(100 * 5 / 6)
    features, apart = blobs(4, 5)
    assert neighborhood_purity(features, apart, 10) == pytest.approx(highest_purity(apart, 10)) == pytest.approx(40)


@pytest.mark.parametrize("value", [0.0, 7.0])
def test_points_that_are_all_alike_are_refused(value):
    with pytest.raises(
        ParameterError, match=r"`features` must be points that are not all equal, but got 60 equal points"
    ):
        tsne_embedding(torch.full((60, 4), value))


def test_bad_input_is_named():
    with pytest.raises(ParameterError, match=r"`seed` must be at least 0, but got -1"):
        tsne_embedding(torch.rand(40, 3), seed=-1)
    with pytest.raises(
        ParameterError, match=r"`perplexity` must be in \(0, 20\), less than the number of points, but got 30"
    ):
        tsne_embedding(torch.rand(20, 3))
    with pytest.raises(ParameterError, match="`features` must be a matrix of at least two columns"):
        tsne_embedding(torch.rand(40, 1))
    with pytest.raises(ParameterError, match="`labels` must be one for each of 3 points"):
        neighborhood_purity(torch.rand(3, 2), torch.zeros(2), 1)


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


def test_one_class_per_item_has_no_gap():
    assert small_graph(torch.rand(12, 4), torch.arange(12))["eigengap"] is None
