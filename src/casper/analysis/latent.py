"""The latent space in a few numbers, for the end of a run."""

from collections.abc import Iterable

import torch

from casper.analysis.knn_probe import PROBES, probe_accuracies
from casper.analysis.variance import same_class_variance, total_variance
from casper.memory import Buffer
from casper.nets import FeatureClassifier, features_of
from casper.streams import Transform
from casper.types import ImageSet


def latent_summary(
    net: FeatureClassifier, tests: Iterable[ImageSet], memory: Buffer, transform: Transform, num_classes: int
) -> dict[str, float | None]:
    """Measure the features of all test sets, and of the memory, in evaluation mode and without augmentation.

    Args:
        net: The network.
        tests: Each task's test set, one after the other.
        memory: The memory; may be empty.
        transform: How images are shown to the network.
        num_classes: The number of classes.

    Returns:
        `same_class_variance` of the test features, its `_ratio` to their total variance (None where that is 0) and its
        `_trace`, the sum over dimensions instead of the mean; `same_class_variance_memory`, of the memory's features;
        and the probes of `probe_accuracies`. None for what needs a memory where there is none.
    """
    parts = [(features_of(net, data.images, transform.test), data.labels) for data in tests]
    features, labels = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
    within, total = same_class_variance(features, labels), total_variance(features)
    summary: dict[str, float | None] = {
        "same_class_variance": within,
        "same_class_variance_ratio": within / total if total > 0 else None,
        "same_class_variance_trace": within * features.shape[1],
    }
    if len(memory) == 0:
        return {**summary, **dict.fromkeys(["same_class_variance_memory", *PROBES])}
    support = features_of(net, memory.images, transform.test)
    return {
        **summary,
        "same_class_variance_memory": same_class_variance(support, memory.labels),
        **probe_accuracies(parts, support, memory.labels, num_classes),
    }
