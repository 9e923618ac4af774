"""How well the memory's features classify the test images by themselves."""

from collections.abc import Sequence

from torch import Tensor

from casper.metrics import accuracy
from casper.nets import majority_vote, weighted_vote

# The vote and the number of neighbours behind each name; the numbers are the paper's.
PROBES = {
    "knn_5": (weighted_vote, 5),
    "knn_11": (weighted_vote, 11),
    "knn_5_majority": (majority_vote, 5),
    "knn_11_majority": (majority_vote, 11),
}


def probe_accuracies(
    tests: Sequence[tuple[Tensor, Tensor]], support: Tensor, support_labels: Tensor, num_classes: int
) -> dict[str, float]:
    """Classify test features by their nearest neighbours among the memory's: the mean accuracy over tasks, in percent.

    `knn_K`: cosine similarity, votes weighted by exp(similarity / 0.07). `knn_K_majority`: Euclidean distance, one vote
    each. The head plays no part, so methods can be compared whatever theirs is.

    Args:
        tests: Features of shape (n, d) and labels of shape (n,) of each task's test set.
        support: Features of the memory's items, shape (m, d), m >= 1.
        support_labels: Tensor of shape (m,).
        num_classes: The number of classes.
    """
    accuracies = {}
    for name, (vote, neighbors) in PROBES.items():
        percents = [
            accuracy(vote(features, support, support_labels, num_classes, neighbors), labels)
            for features, labels in tests
        ]
        accuracies[name] = sum(percents) / len(percents)
    return accuracies
