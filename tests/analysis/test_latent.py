import torch

from casper.analysis import latent_summary, probe_accuracies, same_class_variance, total_variance
from casper.nets import features_of
from support import small_trainer


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
        "same_class_variance_memory": same_class_variance(support, trainer.memory.labels),
        **probe_accuracies(pairs, support, trainer.memory.labels),
    }
    assert 0 < latent["same_class_variance_ratio"] < 1
    assert latent["knn_5"] > 50


def test_without_a_memory_there_is_no_probe():
    latent = small_trainer("finetune").run()["latent"]
    assert latent["same_class_variance"] > 0
    absent = {name for name, value in latent.items() if value is None}
    assert absent == {"same_class_variance_memory", "knn_5", "knn_11", "knn_5_majority", "knn_11_majority"}


def test_features_that_are_all_alike_have_no_ratio():
    tests = [(torch.full((6, 3), 0.7), torch.tensor([0, 0, 0, 1, 1, 1]))]
    summary = latent_summary(tests, torch.empty(0, 3), torch.empty(0, dtype=torch.long))
    assert summary["same_class_variance"] == 0
    assert summary["same_class_variance_ratio"] is None
