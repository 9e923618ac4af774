"""Probes: how well the features of some items classify others, by nearest neighbours or by the nearest class mean."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from casper.errors import ParameterError, require
from casper.metrics import accuracy
from casper.nets import class_means, majority_vote, nearest_mean_scores, weighted_vote
from casper.spectral import check_features

Vote = Literal["weighted", "majority"]
_VOTES = {"weighted": weighted_vote, "majority": majority_vote}
# The number of neighbours and the vote of each probe; the numbers are the paper's.
PROBES: dict[str, tuple[int, Vote]] = {
    "knn_5": (5, "weighted"),
    "knn_11": (11, "weighted"),
    "knn_5_majority": (5, "majority"),
    "knn_11_majority": (11, "majority"),
}


def knn_accuracy(
    support: Tensor,
    support_labels: Tensor,
    query: Tensor,
    query_labels: Tensor,
    num_neighbors: int,
    vote: Vote = "weighted",
) -> float:
    """Compute the accuracy of a k-NN classifier on features, in percent.

    Args:
        support: Features that vote, shape (m, d), m >= 1.
        support_labels: Their classes, shape (m,), integers from 0.
        query: Features to classify, shape (n, d), n >= 1.
        query_labels: Their classes, shape (n,).
        num_neighbors: The number k of voters; m if there are fewer.
        vote: `"weighted"`: the k most similar by cosine, each with weight exp(cos / 0.07), as in Wu et al. (CVPR 2018).
            `"majority"`: the k nearest by Euclidean distance, one vote each; in a tie, the class of the nearest wins.

    Raises:
        ParameterError: For invalid features, labels, number of neighbours or vote.

    Example:
        >>> import torch
        >>> from casper.analysis import knn_accuracy
        >>> points = torch.tensor([[0.0], [1.0], [3.0], [4.0]])
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> query, query_labels = torch.tensor([[0.5], [3.5], [2.5]]), torch.tensor([0, 1, 0])
        >>> round(knn_accuracy(points, labels, query, query_labels, num_neighbors=1, vote="majority"), 2)
        66.67
    """
    require(vote in _VOTES, "vote", "'weighted' or 'majority'", vote)
    require(num_neighbors >= 1, "num_neighbors", "at least 1", num_neighbors)
    points, voters, queries, targets, number = _checked(support, support_labels, query, query_labels)
    return accuracy(_VOTES[vote](queries, points, voters, number, num_neighbors), targets)


def nearest_mean_accuracy(support: Tensor, support_labels: Tensor, query: Tensor, query_labels: Tensor) -> float:
    """Compute the accuracy of the nearest class mean of features in Euclidean distance, in percent.

    Args:
        support: Features to average, shape (m, d), m >= 1.
        support_labels: Their classes, shape (m,), integers from 0.
        query: Features to classify, shape (n, d), n >= 1.
        query_labels: Their classes, shape (n,).

    Raises:
        ParameterError: For invalid features or labels.

    Example:
        >>> import torch
        >>> from casper.analysis import nearest_mean_accuracy
        >>> points, labels = torch.tensor([[0.0], [1.0], [3.0], [4.0]]), torch.tensor([0, 0, 1, 1])
        >>> nearest_mean_accuracy(points, labels, torch.tensor([[1.9], [2.1]]), torch.tensor([0, 0]))
        50.0
    """
    points, classes, queries, targets, number = _checked(support, support_labels, query, query_labels)
    means = class_means(points.double(), classes, number)
    return accuracy(nearest_mean_scores(queries.double(), means), targets)


def _checked(
    support: Tensor, support_labels: Tensor, query: Tensor, query_labels: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
    """Check features and labels, and renumber the classes, which may be any numbers.

    Returns:
        Features and classes of the support, those of the queries, and the number of classes.
    """
    for name, features, labels in (("support", support, support_labels), ("query", query, query_labels)):
        check_features(features, name)
        if len(features) == 0:
            raise ParameterError(name, "a matrix of at least one row", f"shape {tuple(features.shape)}")
        if labels.shape != features.shape[:1] or labels.is_floating_point() or int(labels.min()) < 0:
            found = (
                f"shape {tuple(labels.shape)}, {labels.dtype}, minimum {labels.min().item() if len(labels) else None}"
            )
            raise ParameterError(f"{name}_labels", f"{len(features)} non-negative integers", found)
    if support.shape[1] != query.shape[1]:
        raise ParameterError("query", f"a matrix of {support.shape[1]} columns, like `support`", f"{query.shape[1]}")
    # In half precision the weights of near neighbours would overflow and become equal.
    kind = torch.promote_types(torch.promote_types(support.dtype, query.dtype), torch.float32)
    classes, numbers = torch.cat([support_labels, query_labels]).unique(return_inverse=True)
    return support.to(kind), numbers[: len(support)], query.to(kind), numbers[len(support) :], len(classes)


def probe_accuracies(
    tests: Sequence[tuple[Tensor, Tensor]], support: Tensor, support_labels: Tensor
) -> dict[str, float]:
    """Compute the mean accuracy over tasks of classifiers on the features of the memory, in percent.

    The names are those of `PROBES`, and `nearest_mean`. The head is not used, so methods with different heads can be
    compared.

    Args:
        tests: Features of shape (n, d) and labels of shape (n,) of each task's test set.
        support: Features of the memory's items, shape (m, d), m >= 1.
        support_labels: Tensor of shape (m,).

    Example:
        >>> import torch
        >>> from casper.analysis import probe_accuracies
        >>> features = torch.eye(2).repeat_interleave(6, dim=0)
        >>> labels = torch.arange(2).repeat_interleave(6)
        >>> probe_accuracies([(features, labels)], features, labels)["knn_5"]
        100.0
    """
    found = {
        name: [knn_accuracy(support, support_labels, *test, neighbors, vote) for test in tests]
        for name, (neighbors, vote) in PROBES.items()
    }
    found["nearest_mean"] = [nearest_mean_accuracy(support, support_labels, *test) for test in tests]
    return {name: sum(percents) / len(percents) for name, percents in found.items()}
