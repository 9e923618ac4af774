"""Supervised contrastive loss: views of one class together, all others apart."""

import torch
from torch import Tensor

from casper.errors import require


def supervised_contrastive(projections: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """Have each view find the other views of its class among all others.

    With s_ij = <z_i, z_j> / temperature over all n * v views and P(i) the views of i's class but i itself,
    l_i = -(1 / |P(i)|) Σ_{j in P(i)} (s_ij - log Σ_{a ≠ i} exp(s_ia)); the mean over all i is returned. Khosla et al.,
    "Supervised Contrastive Learning" (NeurIPS 2020), Equation 2.

    Args:
        projections: Tensor of shape (n, v, d): v >= 2 views of n items, each of length 1.
        labels: Tensor of shape (n,).
        temperature: The smaller, the more the nearest others count.

    Returns:
        Scalar tensor.
    """
    views = projections.shape[1]
    require(views >= 2, "projections", "of at least 2 views per item: else one may have nothing to find", views)
    anchors, classes = projections.flatten(0, 1), labels.repeat_interleave(views)
    similarities = anchors @ anchors.T / temperature
    itself = torch.eye(len(anchors), dtype=torch.bool, device=anchors.device)
    positives = (classes[:, None] == classes) & ~itself
    attraction = (similarities * positives).sum(dim=1) / positives.sum(dim=1)
    return (similarities.masked_fill(itself, -torch.inf).logsumexp(dim=1) - attraction).mean()
