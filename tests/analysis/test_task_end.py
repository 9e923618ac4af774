import pytest
import torch

from analysis.blobs import blobs
from casper.analysis import (
    label_signal_variation,
    label_signal_variation_share,
    latent_summary,
    spectrum,
    task_end_summary,
)


def test_classes_that_are_apart():
    features, labels = blobs(4, 30)
    found = task_end_summary([(features, labels)], features, labels, 5)
    assert found["memory"] == 120
    assert (found["label_signal_variation"], found["label_signal_variation_share"]) == (0, 0)
    assert found["knn_5"] == 100
    low = found["spectrum"]
    assert (low["num_classes"], low["num_components"], low["widest_gap_at"]) == (4, 4, 4)
    assert len(low["eigenvalues"]) == 4 + 1 + 10
    assert low["eigengap"] == low["widest_gap"] == pytest.approx(low["eigenvalues"][4], abs=1e-6)


def test_it_is_made_of_the_functions_of_their_names():
    generator = torch.Generator().manual_seed(0)
    features, labels = torch.randn(60, 4, generator=generator), torch.randint(3, (60,), generator=generator)
    found = task_end_summary([(features[:20], labels[:20])], features, labels, 7)
    assert found["label_signal_variation"] == label_signal_variation(features, labels, 7) > 0
    assert found["label_signal_variation_share"] == label_signal_variation_share(features, labels, 7)
    assert found["label_signal_variation_least"] == 0
    summary = latent_summary([(features[:20], labels[:20])], features, labels)
    assert {name: found[name] for name in summary} == summary
    low = spectrum(features, 14, 7)
    assert found["spectrum"]["eigenvalues"] == pytest.approx(low.eigenvalues.tolist(), abs=1e-6)
    assert found["spectrum"]["eigengap"] == low.gap(3)
    assert found["spectrum"]["widest_gap"] == low.gap(low.widest_gap_at)


@pytest.mark.parametrize("size", [0, 1, 10])
def test_a_memory_too_small_for_a_graph_has_none(size):
    features, labels = torch.rand(12, 3), torch.arange(12) % 2
    found = task_end_summary([(features, labels)], features[:size], labels[:size])
    assert found["spectrum"] is found["label_signal_variation"] is found["label_signal_variation_share"] is None
    assert found["label_signal_variation_least"] is None
    assert found["memory"] == size


def test_as_many_classes_as_items_leave_no_gap_between_them():
    features = torch.rand(12, 3)
    found = task_end_summary([(features, torch.arange(12))], features, torch.arange(12))
    assert found["spectrum"]["eigengap"] is None
    assert len(found["spectrum"]["eigenvalues"]) == 12
