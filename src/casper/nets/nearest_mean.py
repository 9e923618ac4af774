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

    Example:
        >>> import torch
        >>> from casper.nets import class_means
        >>> features, labels = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.tensor([0, 0, 1])
        >>> class_means(features, labels, num_classes=2)
        tensor([[2., 3.],
                [5., 6.]])
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

    Example:
        >>> import torch
        >>> from casper.nets import nearest_mean_scores
        >>> nearest_mean_scores(torch.zeros(1, 2), means=torch.tensor([[3.0, 4.0], [1.0, 0.0]]))
        tensor([[-25.,  -1.]])
    """
    distances = torch.cdist(features, means, compute_mode="donot_use_mm_for_euclid_dist")
    return (-distances.square()).masked_fill(means.isnan().any(dim=1), -torch.inf)
