"""Losses that compare items with each other: the supervised contrastive loss and triplet losses."""

import torch
from torch import Tensor

from casper.errors import require


def supervised_contrastive(projections: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """Compute the supervised contrastive loss: each view identifies the other views of its class.

    With s_ij = <z_i, z_j> / temperature over all n * v views and P(i) the views of i's class except i,
    l_i = -(1 / |P(i)|) Σ_{j in P(i)} (s_ij - log Σ_{a ≠ i} exp(s_ia)); the mean over all i is returned. Khosla et al.,
    "Supervised Contrastive Learning" (NeurIPS 2020), Equation 2.

    Args:
        projections: Tensor of shape (n, v, d): v >= 2 views of n items, each of length 1.
        labels: Tensor of shape (n,).
        temperature: The smaller, the larger the influence of the most similar views.

    Returns:
        Scalar tensor.

    Example:
        >>> import torch
        >>> from casper import supervised_contrastive
        >>> projections = torch.eye(2)[:, None].repeat(1, 2, 1)  # 2 items, 2 equal views each
        >>> round(supervised_contrastive(projections, torch.tensor([0, 1]), temperature=1.0).item(), 4)
        0.5514
    """
    views = projections.shape[1]
    require(views >= 2, "projections", "a tensor of at least 2 views per item", views)
    anchors, classes = projections.flatten(0, 1), labels.repeat_interleave(views)
    similarities = anchors @ anchors.T / temperature
    itself = torch.eye(len(anchors), dtype=torch.bool, device=anchors.device)
    positives = (classes[:, None] == classes) & ~itself
    attraction = (similarities * positives).sum(dim=1) / positives.sum(dim=1)
    return (similarities.masked_fill(itself, -torch.inf).logsumexp(dim=1) - attraction).mean()


def hard_triplet_loss(features: Tensor, labels: Tensor, num_hardest: int, margin: float = 1.0) -> Tensor:
    """Compute the triplet loss of the k hardest positives and the k hardest negatives of each anchor.

    For anchor i, P_i1 >= .. >= P_ik are the k largest of ||z_i - z_j||² over its class, including i itself and padded
    with zeros, and Q_i1 <= .. <= Q_ik the k smallest over other classes. They are paired rank by rank:
    loss = mean of relu(P_ir - Q_ir + margin) over all anchors i and ranks r whose Q_ir exists.

    Pairs are chosen without a gradient; only the distances of the chosen pairs are computed with one. Hermans et al.,
    "In Defense of the Triplet Loss for Person Re-Identification" (2017), with k pairs instead of one.

    Args:
        features: Tensor of shape (n, d).
        labels: Tensor of shape (n,).
        num_hardest: The number k of pairs per anchor; reduced to n if larger.
        margin: The required difference between the squared distances.

    Returns:
        Scalar tensor; 0, with a gradient of 0, if there is no pair.

    Example:
        >>> import torch
        >>> from casper import hard_triplet_loss
        >>> features = torch.tensor([[0.0], [1.0], [1.5]])
        >>> round(hard_triplet_loss(features, torch.tensor([0, 0, 1]), num_hardest=1).item(), 4)
        0.8333
    """
    same = labels[:, None] == labels
    distances = _all_distances(features)
    count = min(num_hardest, len(labels))
    farthest = distances.masked_fill(~same, 0).topk(count).indices
    far = _distances_to(features, farthest) * same.gather(1, farthest)  # shape: (n, k)
    near, exists = _nearest_others(features, distances, same, count)
    return _mean_where(exists, (far - near + margin).relu())


def negatives_loss(features: Tensor, domains: Tensor, num_nearest: int, margin: float = 1.0) -> Tensor:
    """Push the k nearest items of other domains away from each item, without attracting any.

    loss = mean of relu(margin - Q_ir) over all items i and ranks r = 1..k whose Q_ir exists, Q_i1 <= .. <= Q_ik being
    the k smallest of ||z_i - z_j||² over other domains.

    Args:
        features: Tensor of shape (n, d).
        domains: Tensor of shape (n,).
        num_nearest: The number k of negatives per item; reduced to n if larger.
        margin: The squared distance beyond which the loss is zero.

    Returns:
        Scalar tensor; 0, with a gradient of 0, if there is no pair.

    Example:
        >>> import torch
        >>> from casper import negatives_loss
        >>> features = torch.tensor([[0.0], [0.5], [3.0]])
        >>> negatives_loss(features, torch.tensor([0, 1, 1]), num_nearest=1).item()
        0.5
    """
    same = domains[:, None] == domains
    count = min(num_nearest, len(domains))
    near, exists = _nearest_others(features, _all_distances(features), same, count)
    return _mean_where(exists, (margin - near).relu())


@torch.no_grad()
def _all_distances(features: Tensor) -> Tensor:
    """Compute plain distances of shape (n, n), used to choose pairs; exact, so that near ties are distinguished."""
    return torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")


def _distances_to(features: Tensor, chosen: Tensor) -> Tensor:
    """Compute ||z_i - z_j||² between each item i and its chosen items j; `chosen` and the result have shape (n, k)."""
    return (features[:, None] - features[chosen]).square().sum(dim=2)


def _nearest_others(features: Tensor, distances: Tensor, same: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Compute the smallest squared distances to items where `same` is False, ascending, and mark those that exist."""
    nearest = distances.masked_fill(same, torch.inf).topk(count, largest=False).indices
    return _distances_to(features, nearest), ~same.gather(1, nearest)


def _mean_where(exists: Tensor, values: Tensor) -> Tensor:
    return values.masked_fill(~exists, 0).sum() / exists.sum().clamp(min=1)
