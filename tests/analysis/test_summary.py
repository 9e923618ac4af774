import pytest
import torch

from analysis.blobs import blobs
from casper.analysis import (
    coordinate_variance,
    label_signal_variation,
    label_signal_variation_share,
    latent_summary,
    probe_accuracies,
    same_class_variance,
    spectrum,
    task_end_summary,
    total_variance,
)
from casper.errors import ParameterError
from casper.nets import features_of
from support import small_trainer


def test_two_classes_by_hand():
    features = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0], [0.0, 4.0]])
    labels = torch.tensor([5, 5, 9, 9])
    assert same_class_variance(features[:2], labels[:2]) == 0.5
    assert same_class_variance(features[2:], labels[2:]) == 2.0
    assert same_class_variance(features, labels) == 1.25
    assert same_class_variance(features + 1000, labels) == pytest.approx(1.25)
    assert same_class_variance(10 * features, labels) == pytest.approx(125)


def test_classes_count_alike_whatever_their_size():
    features = torch.tensor([[0.0], [2.0], [7.0], [7.0], [7.0], [7.0]])
    assert same_class_variance(features, torch.tensor([0, 0, 1, 1, 1, 1])) == 0.5


def test_total_variance_ignores_classes():
    assert total_variance(torch.tensor([[0.0, 1.0], [2.0, 1.0]])) == 0.5


def test_bad_input_is_named():
    with pytest.raises(ParameterError, match="`features` must be finite"):
        same_class_variance(torch.full((2, 2), torch.nan), torch.zeros(2))
    with pytest.raises(ParameterError, match="`labels` must be one for each of 2 points"):
        same_class_variance(torch.rand(2, 2), torch.zeros(3))
    for measure in (lambda features: same_class_variance(features, torch.zeros(0)), total_variance):
        with pytest.raises(ParameterError, match="`features` must be a matrix of at least one row"):
            measure(torch.rand(0, 2))


def test_the_variance_over_coordinates_is_that_of_each_vector_and_ignores_classes():
    features = torch.tensor([[0.0, 4.0], [1.0, 1.0], [2.0, 8.0]])
    assert coordinate_variance(features) == pytest.approx((4 + 0 + 9) / 3)
    assert coordinate_variance(features + 1000) == pytest.approx(13 / 3)
    assert coordinate_variance(features[:, :1]) == 0  # while the variance within a class is not
    with pytest.raises(ParameterError, match="`features` must be a matrix of at least one row"):
        coordinate_variance(torch.rand(0, 2))


def test_the_end_of_a_run_measures_test_and_memory_features():
    trainer = small_trainer("er-ace")
    latent = trainer.run()["latent"]
    tests = [task.test for task in trainer.stream]
    view = trainer.stream.transform.test
    features = [features_of(trainer.net, data.images, view) for data in tests]
    joined, labels = torch.cat(features), torch.cat([data.labels for data in tests])
    support = features_of(trainer.net, trainer.memory.images, view)
    within = same_class_variance(joined, labels)
    pairs = [(one, data.labels) for one, data in zip(features, tests, strict=True)]
    assert latent == {
        "same_class_variance": within,
        "same_class_variance_ratio": within / total_variance(joined),
        "same_class_variance_trace": within * 32,
        "coordinate_variance": coordinate_variance(joined),
        "same_class_variance_memory": same_class_variance(support, trainer.memory.labels),
        **probe_accuracies(pairs, support, trainer.memory.labels),
    }
    assert 0 < latent["same_class_variance_ratio"] < 1
    assert latent["knn_5"] > 50


def test_without_a_memory_there_is_no_probe():
    latent = small_trainer("finetune").run()["latent"]
    assert latent["same_class_variance"] > 0
    absent = {name for name, value in latent.items() if value is None}
    assert absent == {
        "same_class_variance_memory",
        "knn_5",
        "knn_11",
        "knn_5_majority",
        "knn_11_majority",
        "nearest_mean",
    }


def test_features_that_are_all_alike_have_no_ratio():
    tests = [(torch.full((6, 3), 0.7), torch.tensor([0, 0, 0, 1, 1, 1]))]
    summary = latent_summary(tests, torch.empty(0, 3), torch.empty(0, dtype=torch.long))
    assert summary["same_class_variance"] == 0
    assert summary["same_class_variance_ratio"] is None


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
