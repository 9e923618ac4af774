"""X-DER's logit transplant: bring stored logits up to date without dethroning the true class."""

import torch
from torch import Tensor


def transplant(stored: Tensor, current: Tensor, labels: Tensor, columns: Tensor, gamma: float) -> Tensor:
    """Replace some columns of stored logits by current ones, scaled down where they would outgrow the true class.

    With a_i = stored[i, y_i] and s_i = max over the marked columns of current[i]: the marked columns of row i become
    current[i] * (gamma * a_i / s_i if s_i > a_i else 1). For a_i <= 0 the factor is negative or above gamma; as in the
    released code, nothing is done about that (`outgrown` marks such rows), except that s_i = 0 is not divided by.

    Boschini et al., "Class-Incremental Continual Learning into the eXtended DER-verse" (TPAMI 2022).

    Args:
        stored: Tensor of shape (n, N); left as it is.
        current: Tensor of shape (n, N).
        labels: Tensor of shape (n,): the true classes, outside the marked columns.
        columns: Boolean tensor of shape (N,): what is replaced.
        gamma: How far below the true class the largest replaced logit ends.

    Returns:
        Tensor of shape (n, N).
    """
    truth, largest = _compared(stored, current, labels, columns)
    scale = torch.where((largest > truth) & (largest != 0), gamma * truth / largest, 1.0)
    return torch.where(columns, current * scale, stored)


def outgrown(stored: Tensor, current: Tensor, labels: Tensor, columns: Tensor) -> Tensor:
    """Mark the rows that `transplant` scales by a true logit that is not positive; arguments as there."""
    truth, largest = _compared(stored, current, labels, columns)
    return ((largest > truth) & (truth <= 0)).squeeze(1)


def _compared(stored: Tensor, current: Tensor, labels: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    truth = stored.gather(1, labels[:, None])  # shape: (n, 1)
    largest = current.masked_fill(~columns, -torch.inf).amax(dim=1, keepdim=True)  # shape: (n, 1)
    return truth, largest
