"""Summaries of the latent space at the end of a task and at the end of a run."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from casper.analysis.graph import check_labels, latent_graph
from casper.analysis.knn_probe import PROBES, probe_accuracies
from casper.analysis.label_variation import crossing_edges, least_label_signal_variation
from casper.analysis.spectrum import graph_spectrum
from casper.errors import require
from casper.spectral import check_features


def same_class_variance(features: Tensor, labels: Tensor) -> float:
    """Compute the variance within a class, averaged over dimensions and classes.

    v = 1/|C| Σ_c 1/d Σ_k Var_{i: y_i = c}(f_ik), where Var divides by the number of items. It grows with the scale of
    the features: use its ratio to `total_variance` to compare networks. The paper's table of variances was computed
    differently, see `coordinate_variance`.

    Args:
        features: Tensor of shape (n, d).
        labels: Tensor of shape (n,).

    Example:
        >>> import torch
        >>> from casper.analysis import same_class_variance
        >>> points = torch.tensor([[0.0], [1.0], [3.0], [4.0]])
        >>> same_class_variance(points, torch.tensor([0, 0, 1, 1]))
        0.25
    """
    check_features(features)
    check_labels(labels, features)
    require(len(features) > 0, "features", "a matrix of at least one row", tuple(features.shape))
    classes, places, counts = labels.unique(return_inverse=True, return_counts=True)
    points = features.double()
    means = points.new_zeros(len(classes), points.shape[1]).index_add_(0, places, points) / counts[:, None]
    squares = (points - means[places]).square().mean(dim=1)
    return float((squares.new_zeros(len(classes)).index_add_(0, places, squares) / counts).mean())


def coordinate_variance(features: Tensor) -> float:
    """Compute the variance over the coordinates of each feature vector, averaged over the items.

    v = 1/n Σ_i Var_k(f_ik), where Var divides by the number d of dimensions. This is what the authors of CaSpeR report
    as the same-class variance: it depends on how unequal the coordinates of a vector are, and not on its class.

    Args:
        features: Tensor of shape (n, d), n >= 1.

    Example:
        >>> import torch
        >>> from casper.analysis import coordinate_variance
        >>> coordinate_variance(torch.tensor([[0.0, 2.0], [5.0, 5.0]]))
        0.5
    """
    check_features(features)
    require(len(features) > 0, "features", "a matrix of at least one row", tuple(features.shape))
    return torch.var(features.double(), dim=1, correction=0).mean().item()


def total_variance(features: Tensor) -> float:
    """Compute the variance of all features of shape (n, d), n >= 1, averaged over dimensions.

    Example:
        >>> import torch
        >>> from casper.analysis import total_variance
        >>> total_variance(torch.tensor([[0.0], [1.0], [3.0], [4.0]]))
        2.5
    """
    check_features(features)
    require(len(features) > 0, "features", "a matrix of at least one row", tuple(features.shape))
    return torch.var(features.double(), dim=0, correction=0).mean().item()


def latent_summary(
    tests: Sequence[tuple[Tensor, Tensor]], support: Tensor, support_labels: Tensor
) -> dict[str, float | None]:
    """Summarize the features of all test sets and of the memory.

    Args:
        tests: Features of shape (n, d) and labels of shape (n,) of each task's test set.
        support: Features of the memory's items, shape (m, d); m may be 0.
        support_labels: Tensor of shape (m,).

    Returns:
        `same_class_variance` of the test features, its `_ratio` to their total variance (None if that is 0) and its
        `_trace`, the sum over dimensions instead of the mean; `coordinate_variance` of the test features;
        `same_class_variance_memory`, of the memory's features; and the probes of `probe_accuracies`. Values that need a
        memory are None if it is empty.

    Example:
        >>> import torch
        >>> from casper.analysis import latent_summary
        >>> points, labels = torch.tensor([[0.0], [1.0], [3.0], [4.0]]), torch.tensor([0, 0, 1, 1])
        >>> summary = latent_summary([(points, labels)], support=points, support_labels=labels)
        >>> summary["same_class_variance_ratio"], summary["knn_5_majority"]
        (0.1, 100.0)
    """
    features, labels = (torch.cat(tensors) for tensors in zip(*tests, strict=True))
    within, total = same_class_variance(features, labels), total_variance(features)
    summary: dict[str, float | None] = {
        "same_class_variance": within,
        "same_class_variance_ratio": within / total if total > 0 else None,
        "same_class_variance_trace": within * features.shape[1],
        "coordinate_variance": coordinate_variance(features),
    }
    if len(support) == 0:
        return {**summary, **dict.fromkeys(["same_class_variance_memory", *PROBES, "nearest_mean"])}
    return {
        **summary,
        "same_class_variance_memory": same_class_variance(support, support_labels),
        **probe_accuracies(tests, support, support_labels),
    }


# The number of eigenvalues to report after the one at the number of classes.
_BEYOND = 10
_OF_THE_GRAPH = (
    "label_signal_variation",
    "label_signal_variation_share",
    "label_signal_variation_least",
    "spectrum",
)


def task_end_summary(
    tests: Sequence[tuple[Tensor, Tensor]], support: Tensor, support_labels: Tensor, num_neighbors: int = 10
) -> dict[str, Any]:
    """Summarize the features of the test sets seen so far, and the latent geometry graph of the memory.

    Args:
        tests: Features of shape (n, d) and labels of shape (n,) of each task's test set.
        support: Features of the memory's items, shape (m, d); m may be 0.
        support_labels: Tensor of shape (m,).
        num_neighbors: The number of neighbours in the graph. Default: that of the released code.

    Returns:
        The values of `latent_summary`; `memory`, the number m; and for the memory's graph, or None if m is at most
        `num_neighbors`: `label_signal_variation`, its `_share`, its lower bound `_least`, and `spectrum` with the
        lowest `eigenvalues` λ, the number p of classes as `num_classes`, `eigengap` = λ_{p+1} - λ_p, `widest_gap` and
        `widest_gap_at` among those eigenvalues, and `num_components`.

    Example:
        >>> import torch
        >>> from casper.analysis import task_end_summary
        >>> points, labels = torch.tensor([[0.0], [1.0], [3.0], [4.0]]), torch.tensor([0, 0, 1, 1])
        >>> summary = task_end_summary([(points, labels)], points, labels, num_neighbors=2)
        >>> summary["memory"], summary["label_signal_variation"], summary["spectrum"]["num_components"]
        (4, 6.0, 1)
    """
    summary: dict[str, Any] = {"memory": len(support), **latent_summary(tests, support, support_labels)}
    if len(support) <= num_neighbors:
        return {**summary, **dict.fromkeys(_OF_THE_GRAPH)}
    graph = latent_graph(support, num_neighbors)
    crossing, edges = crossing_edges(graph, support_labels)
    found = (
        crossing,
        crossing / edges,
        least_label_signal_variation(support_labels, num_neighbors),
        _spectrum(graph, len(support_labels.unique())),
    )
    return {**summary, **dict(zip(_OF_THE_GRAPH, found, strict=True))}


def _spectrum(graph: Any, num_classes: int) -> dict[str, Any]:
    num_points = graph.shape[0]
    found = graph_spectrum(graph, min(num_points, num_classes + 1 + _BEYOND))
    widest = found.widest_gap_at
    return {
        "eigenvalues": [round(value, 6) for value in found.eigenvalues.tolist()],
        "num_classes": num_classes,
        "eigengap": found.gap(num_classes) if num_classes < num_points else None,
        "widest_gap": found.gap(widest),
        "widest_gap_at": widest,
        "num_components": found.num_components,
    }
