"""Cross-space clustering and controlled transfer: losses between new features and those of an old network."""

import torch
import torch.nn.functional as F
from torch import Tensor

from casper.losses.masking import restricted

# Shorter features count as having this length when cosines are computed, as in the original code.
_SHORTEST = 1e-8


def cross_space_clustering(features: Tensor, old_features: Tensor, labels: Tensor) -> Tensor:
    """Pull features towards the old features of their class, and push them away from those of other classes.

    The mean over all pairs (i, j) of s_ij * (1 - cos(F_i, R_j)), with s_ij = 1 if i and j have the same label and -1
    otherwise. Ashok et al., "Class-Incremental Learning with Cross-Space Clustering and Controlled Transfer" (ECCV
    2022), Equation 3.

    Args:
        features: F, tensor of shape (n, d).
        old_features: R, tensor of shape (n, d): the same items under the old network.
        labels: Tensor of shape (n,).

    Returns:
        Scalar tensor.

    Example:
        >>> import torch
        >>> from casper import cross_space_clustering
        >>> features = torch.eye(2)
        >>> cross_space_clustering(features, features, torch.tensor([0, 1])).item()
        -0.5
    """
    same = labels[:, None] == labels
    return torch.where(same, 1.0, -1.0).mul(1 - _cosines(features, old_features)).mean()


def controlled_transfer(
    features: Tensor, old_features: Tensor, current: Tensor, previous: Tensor, temperature: float
) -> Tensor:
    """Preserve the similarities of items of the present task to items of earlier tasks under the old network.

    With P = softmax_j(cos(R_i, R_j) / T) and Q = softmax_j(cos(F_i, F_j) / T) over the items j of previous tasks:
    T² * mean over the pairs (i, j), i current and j previous, of P_ij (log P_ij - log Q_ij). The mean is over pairs,
    not over rows, as in the original code. Ashok et al. (ECCV 2022), Equation 6.

    Args:
        features: F, tensor of shape (n, d).
        old_features: R, tensor of shape (n, d): the same items under the old network.
        current: Boolean tensor of shape (n,): the items of the present task.
        previous: Boolean tensor of shape (n,): the items of earlier tasks.
        temperature: The temperature T.

    Returns:
        Scalar tensor; 0 if there is no pair.

    Example:
        >>> import torch
        >>> from casper import controlled_transfer
        >>> features, current = torch.eye(3), torch.tensor([True, False, False])
        >>> controlled_transfer(features, features, current, ~current, temperature=2.0).item()  # nothing has changed
        0.0
    """
    before = F.log_softmax(restricted(_cosines(old_features, old_features) / temperature, previous), dim=1)
    now = F.log_softmax(restricted(_cosines(features, features) / temperature, previous), dim=1)
    pairs = current[:, None] & previous
    divergence = torch.where(pairs, before.exp() * (before - now), 0.0).sum()
    return temperature**2 * divergence / pairs.sum().clamp(min=1)


def _cosines(first: Tensor, second: Tensor) -> Tensor:
    return F.normalize(first, eps=_SHORTEST) @ F.normalize(second, eps=_SHORTEST).T
