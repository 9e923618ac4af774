"""Classification by the nearest class mean."""

import torch
from torch import Tensor


def class_means(features: Tensor, labels: Tensor, num_classes: int) -> Tensor:
    """Average the features of each class.

    Args:
        features: Tensor of shape (n, d).
        labels: Tensor of shape (n,).
        num_classes: The number N of classes.

    Returns:
        Tensor of shape (N, d); the row of a class without features is NaN.
    """
    sums = features.new_zeros(num_classes, features.shape[1]).index_add_(0, labels, features)
    return sums / labels.bincount(minlength=num_classes)[:, None]


def nearest_mean_scores(features: Tensor, means: Tensor) -> Tensor:
    """Score each class by the negative squared distance of its mean: score[i, c] = -||means_c - features_i||².

    Args:
        features: Tensor of shape (n, d).
        means: Tensor of shape (N, d); a row of NaN means that the class has no mean.

    Returns:
        Tensor of shape (n, N); -inf for a class without a mean.
    """
    distances = torch.cdist(features, means, compute_mode="donot_use_mm_for_euclid_dist")
    return (-distances.square()).masked_fill(means.isnan().any(dim=1), -torch.inf)
