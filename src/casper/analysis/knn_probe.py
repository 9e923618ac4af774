"""How well the features of some items classify others by themselves."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from casper.errors import ParameterError, require
from casper.metrics import accuracy
from casper.nets import majority_vote, weighted_vote
from casper.spectral import check_features

Vote = Literal["weighted", "majority"]
_VOTES = {"weighted": weighted_vote, "majority": majority_vote}
# The number of neighbours and the vote behind each name; the numbers are the paper's.
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
    """Classify features by their nearest neighbours among others: the accuracy in percent.

    Args:
        support: Features that vote, shape (m, d), m >= 1.
        support_labels: Their classes, shape (m,), integers from 0.
        query: Features to classify, shape (n, d), n >= 1.
        query_labels: Their classes, shape (n,).
        num_neighbors: The number k of voters; m if there are fewer.
        vote: `"weighted"`: the most similar by cosine, each with weight exp(cos / 0.07), as Wu et al. (CVPR 2018).
            `"majority"`: the nearest by Euclidean distance, one vote each, among equals the nearest one's class.

    Raises:
        ParameterError: For features, labels, a number or a vote that cannot be used.
    """
    require(vote in _VOTES, "vote", "'weighted' or 'majority'", vote)
    require(num_neighbors >= 1, "num_neighbors", "at least 1", num_neighbors)
    for name, features, labels in (("support", support, support_labels), ("query", query, query_labels)):
        check_features(features, name)
        if len(features) == 0:
            raise ParameterError(name, "of at least one row", f"shape {tuple(features.shape)}")
        if labels.shape != features.shape[:1] or labels.is_floating_point() or int(labels.min()) < 0:
            found = f"shape {tuple(labels.shape)}, {labels.dtype}, least {labels.min().item() if len(labels) else None}"
            raise ParameterError(f"{name}_labels", f"{len(features)} integers from 0", found)
    if support.shape[1] != query.shape[1]:
        raise ParameterError("query", f"of {support.shape[1]} columns, as the support", f"{query.shape[1]}")
    # In half precision the weights of near neighbours would overflow and be alike.
    kind = torch.promote_types(torch.promote_types(support.dtype, query.dtype), torch.float32)
    # Labels may be any numbers; a table of votes has a column for each that is there.
    classes, numbers = torch.cat([support_labels, query_labels]).unique(return_inverse=True)
    voters, asked = numbers[: len(support)], numbers[len(support) :]
    scores = _VOTES[vote](query.to(kind), support.to(kind), voters, len(classes), num_neighbors)
    return accuracy(scores, asked)


def probe_accuracies(
    tests: Sequence[tuple[Tensor, Tensor]], support: Tensor, support_labels: Tensor
) -> dict[str, float]:
    """Classify test features by their nearest neighbours among the memory's: the mean accuracy over tasks, in percent.

    The names are those of `PROBES`. The head plays no part, so methods can be compared whatever theirs is.

    Args:
        tests: Features of shape (n, d) and labels of shape (n,) of each task's test set.
        support: Features of the memory's items, shape (m, d), m >= 1.
        support_labels: Tensor of shape (m,).
    """
    accuracies = {}
    for name, (neighbors, vote) in PROBES.items():
        percents = [knn_accuracy(support, support_labels, *test, neighbors, vote) for test in tests]
        accuracies[name] = sum(percents) / len(percents)
    return accuracies
