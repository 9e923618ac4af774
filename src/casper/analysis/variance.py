"""How widely the features of a class are spread."""

import torch
from torch import Tensor

from casper.analysis.neighbors import check_labels
from casper.errors import require
from casper.spectral import check_features


def same_class_variance(features: Tensor, labels: Tensor) -> float:
    """Average over classes the mean over dimensions of the variance within a class.

    v = 1/|C| Σ_c 1/d Σ_k Var_{i: y_i = c}(f_ik), Var dividing by the number of items. It grows with the scale of the
    features: compare networks on its ratio to `total_variance`.

    Args:
        features: Tensor of shape (n, d).
        labels: Tensor of shape (n,).
    """
    check_features(features)
    check_labels(labels, features)
    require(len(features) > 0, "features", "of at least one row", tuple(features.shape))
    classes, places, counts = labels.unique(return_inverse=True, return_counts=True)
    points = features.double()
    means = points.new_zeros(len(classes), points.shape[1]).index_add_(0, places, points) / counts[:, None]
    squares = (points - means[places]).square().mean(dim=1)
    return float((squares.new_zeros(len(classes)).index_add_(0, places, squares) / counts).mean())


def total_variance(features: Tensor) -> float:
    """Compute the mean over dimensions of the variance of all features of shape (n, d), n >= 1."""
    check_features(features)
    require(len(features) > 0, "features", "of at least one row", tuple(features.shape))
    return torch.var(features.double(), dim=0, correction=0).mean().item()
