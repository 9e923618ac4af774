"""The latent space in a few numbers, for the end of a run."""

from collections.abc import Sequence

import torch
from torch import Tensor

from casper.analysis.knn_probe import PROBES, probe_accuracies
from casper.analysis.variance import same_class_variance, total_variance


def latent_summary(
    tests: Sequence[tuple[Tensor, Tensor]], support: Tensor, support_labels: Tensor
) -> dict[str, float | None]:
    """Summarize the features of all test sets, and of the memory.

    Args:
        tests: Features of shape (n, d) and labels of shape (n,) of each task's test set.
        support: Features of the memory's items, shape (m, d); m may be 0.
        support_labels: Tensor of shape (m,).

    Returns:
        `same_class_variance` of the test features, its `_ratio` to their total variance (None where that is 0) and its
        `_trace`, the sum over dimensions instead of the mean; `same_class_variance_memory`, of the memory's features;
        and the probes of `probe_accuracies`. None for what needs a memory where there is none.
    """
    features, labels = (torch.cat(tensors) for tensors in zip(*tests, strict=True))
    within, total = same_class_variance(features, labels), total_variance(features)
    summary: dict[str, float | None] = {
        "same_class_variance": within,
        "same_class_variance_ratio": within / total if total > 0 else None,
        "same_class_variance_trace": within * features.shape[1],
    }
    if len(support) == 0:
        return {**summary, **dict.fromkeys(["same_class_variance_memory", *PROBES])}
    return {
        **summary,
        "same_class_variance_memory": same_class_variance(support, support_labels),
        **probe_accuracies(tests, support, support_labels),
    }
