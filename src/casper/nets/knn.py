"""Classification by a vote of nearest neighbours."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

# The number of queries compared with the support at once.
_CHUNK = 2000


def weighted_vote(
    queries: Tensor, support: Tensor, labels: Tensor, num_classes: int, num_neighbors: int, temperature: float = 0.07
) -> Tensor:
    """Score classes by the votes of the k most similar items, each with weight exp(cos / temperature).

    Wu et al., "Unsupervised Feature Learning via Non-Parametric Instance Discrimination" (CVPR 2018), whose
    temperature is the default.

    Args:
        queries: Features to classify, shape (n, d).
        support: Features that vote, shape (m, d), m >= 1.
        labels: The support's classes, shape (m,).
        num_classes: The number N of classes.
        num_neighbors: The number k of voters; reduced to m if larger.
        temperature: The smaller, the larger the weight of the nearest items.

    Returns:
        Tensor of shape (n, N): the sum of the votes for each class; -inf for a class without support.

    Example:
        >>> import torch
        >>> from casper.nets import weighted_vote
        >>> support, labels = torch.eye(2), torch.tensor([0, 1])
        >>> weighted_vote(torch.tensor([[0.1, 0.9]]), support, labels, num_classes=2, num_neighbors=2).argmax(dim=1)
        tensor([1])
    """
    directions = F.normalize(support)

    def votes(part: Tensor) -> Tensor:
        cosines, nearest = (F.normalize(part) @ directions.T).topk(min(num_neighbors, len(support)))
        scores = torch.zeros(len(part), num_classes, dtype=part.dtype, device=part.device)
        return scores.scatter_add_(1, labels[nearest], (cosines / temperature).exp())

    return _in_chunks(votes, queries, labels, num_classes)


def majority_vote(queries: Tensor, support: Tensor, labels: Tensor, num_classes: int, num_neighbors: int) -> Tensor:
    """Score classes by the votes of the k nearest items in Euclidean distance; the nearest item breaks ties.

    The arguments are those of `weighted_vote`.

    Returns:
        Tensor of shape (n, N): the number of votes, plus a fraction below 1 that is larger the nearer the class's
        first neighbour; -inf for a class without support.

    Example:
        >>> import torch
        >>> from casper.nets import majority_vote
        >>> support, labels = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([0, 0, 1])
        >>> majority_vote(torch.zeros(1, 1), support, labels, num_classes=2, num_neighbors=3)
        tensor([[2.7500, 1.2500]])
    """
    voters = min(num_neighbors, len(support))
    points = support.double()  # in float32, points far from 0 lose the digits that distinguish neighbours
    earliness = torch.arange(voters, 0, -1, dtype=queries.dtype, device=queries.device) / (voters + 1)

    def votes(part: Tensor) -> Tensor:
        nearest = labels[torch.cdist(part.double(), points).topk(voters, largest=False, sorted=True).indices]
        counts = _counts(nearest, num_classes).to(part.dtype)
        return counts + torch.zeros_like(counts).scatter_reduce(1, nearest, earliness.expand(len(part), -1), "amax")

    return _in_chunks(votes, queries, labels, num_classes)


def nearest_class_vote(
    queries: Tensor, support: Tensor, labels: Tensor, num_classes: int, num_neighbors: int, tie_break: float = 1e-5
) -> Tensor:
    """Score classes by the votes of the k nearest items in Euclidean distance; the distance to the class breaks ties.

    score_c = votes for c - tie_break * min_j ||x - s_j||² over all items j of class c, voters or not. Unlike
    `majority_vote`, this also ranks classes without a vote, which matters if only some classes compete.

    Args:
        queries: Features to classify, shape (n, d).
        support: Features that vote, shape (m, d); m may be 0.
        labels: The support's classes, shape (m,).
        num_classes: The number N of classes.
        num_neighbors: The number k of voters; reduced to m if larger.
        tie_break: The weight of the distances, small enough that they never outweigh a vote. Default: CCIC's, for
            features of length 1, whose squared distances are at most 4.

    Returns:
        Tensor of shape (n, N), float64; -inf for a class without support.

    Example:
        >>> import torch
        >>> from casper.nets import nearest_class_vote
        >>> support, labels = torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([0, 1, 1])
        >>> scores = nearest_class_vote(torch.zeros(1, 1), support, labels, 3, num_neighbors=1, tie_break=0.125)
        >>> scores.tolist()
        [[1.0, -0.125, -inf]]
    """
    voters = min(num_neighbors, len(support))
    points = support.double()

    def votes(part: Tensor) -> Tensor:
        distances = torch.cdist(part.double(), points).square()
        nearest = labels[distances.topk(voters, largest=False).indices]
        farther = distances.new_full((len(part), num_classes), torch.inf)
        closest = farther.scatter_reduce(1, labels.expand(len(part), -1), distances, "amin")
        return _counts(nearest, num_classes) - tie_break * closest

    return _in_chunks(votes, queries, labels, num_classes)


def _counts(nearest: Tensor, num_classes: int) -> Tensor:
    """Count the occurrences of each class in each row of labels of shape (n, k); returns shape (n, N), float64."""
    empty = torch.zeros(len(nearest), num_classes, dtype=torch.float64, device=nearest.device)
    return empty.scatter_add_(1, nearest, torch.ones_like(nearest, dtype=torch.float64))


def _in_chunks(votes: Callable[[Tensor], Tensor], queries: Tensor, labels: Tensor, num_classes: int) -> Tensor:
    scores = torch.cat([votes(part) for part in queries.split(_CHUNK)])
    return scores.masked_fill(labels.bincount(minlength=num_classes) == 0, -torch.inf)
