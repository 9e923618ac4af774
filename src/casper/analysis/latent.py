"""The latent space in a few numbers, for the end of a run."""

from collections.abc import Sequence

import torch
from torch import Tensor

from casper.analysis.knn_probe import NEIGHBORS, probe_accuracies
from casper.analysis.variance import same_class_variance, total_variance
from casper.memory import Buffer
from casper.nets import FeatureClassifier, features_of
from casper.streams import Transform
from casper.types import ImageSet


def latent_summary(
    net: FeatureClassifier, tests: Sequence[ImageSet], memory: Buffer, transform: Transform, num_classes: int
) -> dict[str, float | None]:
    """Measure the features of all test sets, and of the memory, in evaluation mode and without augmentation.

    Args:
        net: The network.
        tests: Each task's test set.
        memory: The memory; may be empty.
        transform: How images are shown to the network.
        num_classes: The number of classes.

    Returns:
        `same_class_variance` of the test features; its `_ratio` to their total variance (None where that is 0); its
        `_trace`, the sum over dimensions instead of the mean; the same of the `_memory`; and the probes of
        `probe_accuracies`. None for what needs a memory where there is none.
    """
    features = [features_of(net, data.images, transform.test) for data in tests]
    everything, labels = torch.cat(features), torch.cat([data.labels for data in tests])
    within, total = same_class_variance(everything, labels), total_variance(everything)
    summary: dict[str, float | None] = {
        "same_class_variance": within,
        "same_class_variance_ratio": within / total if total > 0 else None,
        "same_class_variance_trace": within * everything.shape[1],
    }
    probes = [f"knn_{neighbors}{suffix}" for suffix in ("", "_majority") for neighbors in NEIGHBORS]
    if len(memory) == 0:
        return {**summary, **dict.fromkeys(["same_class_variance_memory", *probes])}
    support: Tensor = features_of(net, memory.images, transform.test)
    pairs = list(zip(features, (data.labels for data in tests), strict=True))
    return {
        **summary,
        "same_class_variance_memory": same_class_variance(support, memory.labels),
        **probe_accuracies(pairs, support, memory.labels, num_classes),
    }
