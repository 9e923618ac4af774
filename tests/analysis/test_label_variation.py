import pytest
import torch

from analysis.blobs import blobs
from casper.analysis import (
    label_signal_variation,
    label_signal_variation_share,
    latent_graph,
    least_label_signal_variation,
    sigma_neighbors,
)
from casper.errors import ParameterError

SQUARE = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def test_a_cycle_of_four_with_alternating_labels():
    labels = torch.tensor([0, 1, 0, 1])
    assert label_signal_variation(SQUARE, labels, 2) == 8
    assert label_signal_variation_share(SQUARE, labels, 2) == 1


def test_two_neighbouring_pairs_on_the_cycle():
    labels = torch.tensor([7, 7, 3, 3])
    assert label_signal_variation(SQUARE, labels, 2) == 4
    assert label_signal_variation_share(SQUARE, labels, 2) == 0.5


def test_classes_that_are_apart_or_all_one():
    features, labels = blobs(5, 20)
    assert label_signal_variation(features, labels) == 0
    assert label_signal_variation(features, torch.zeros(100)) == 0
    assert label_signal_variation_share(features, labels) == 0


def test_it_is_what_is_left_of_all_edges_without_those_within_classes():
    generator = torch.Generator().manual_seed(0)
    features, labels = torch.randn(80, 3, generator=generator), torch.randint(4, (80,), generator=generator)
    adjacency = torch.from_numpy(latent_graph(features, 6).toarray())
    within = sum(float(adjacency[labels == c][:, labels == c].sum()) for c in range(4))
    found = label_signal_variation(features, labels, 6)
    assert found == adjacency.sum() - within
    assert label_signal_variation_share(features, labels, 6) == pytest.approx(found / float(adjacency.sum()))


def test_motion_scale_and_order_play_no_part():
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(50, 3, dtype=torch.float64, generator=generator)
    labels, order = torch.randint(3, (50,), generator=generator), torch.randperm(50, generator=generator)
    turned, _ = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64, generator=generator))
    found = label_signal_variation(features, labels, 5)
    assert label_signal_variation(9 * features[order] @ turned + 2, labels[order], 5) == found > 0


def test_the_least_is_what_classes_smaller_than_their_neighbourhoods_must_have():
    labels = torch.tensor([0] * 3 + [1] * 11 + [2] * 12)
    assert least_label_signal_variation(labels, 10) == 3 * 8 + 11 * 0 + 12 * 0
    assert least_label_signal_variation(labels, 2) == 0
    assert least_label_signal_variation(torch.arange(4), 3) == 4 * 3


@pytest.mark.parametrize("size", [2, 4, 6])
def test_no_features_have_less_and_separate_classes_come_near(size):
    features, labels = blobs(8, size)
    least = least_label_signal_variation(labels, 5)
    apart = label_signal_variation(features, labels, 5)
    assert least <= apart <= 2 * least
    assert least <= label_signal_variation(torch.randn(8 * size, 3), labels, 5)


def test_labels_are_one_for_each_point():
    with pytest.raises(ParameterError, match=r"`labels` must be one for each of 4 points, but got shape \(3,\)"):
        label_signal_variation(SQUARE, torch.zeros(3), 2)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 0, 1, 1], "`labels` must be a tensor, but got list"),
        (torch.tensor([0.0, torch.nan, 1.0, 1.0]), "`labels` must be numbers, but got 1 NaN"),
    ],
)
def test_labels_that_are_none(labels, message):
    with pytest.raises(ParameterError, match=message):
        label_signal_variation(torch.rand(4, 2), labels, 1)


@pytest.mark.parametrize(
    ("size", "neighbors"), [(0, 5), (200, 5), (500, 5), (1250, 5), (1251, 4), (2000, 4), (9000, 4)]
)
def test_the_authors_number_of_neighbours_of_the_nearest_memory_size(size, neighbors):
    assert sigma_neighbors(size) == neighbors
