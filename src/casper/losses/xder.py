"""X-DER's losses: constraints on past and future logits, and the transplant of stored ones."""

import torch
from torch import Tensor

from casper.losses.masking import restricted


def past_violation(logits: Tensor, past: Tensor, present: Tensor, margin: float) -> Tensor:
    """Measure how far a new image's best old class comes near its best present one, in probabilities.

    q = softmax over past and present columns; v_i = max_past q_i + margin - max_present q_i. The past's maximum is held
    constant: the gradient raises the present instead of eroding the past.

    Args:
        logits: Tensor of shape (n, N).
        past: Boolean tensor of shape (N,).
        present: Boolean tensor of shape (N,).
        margin: By how much the present should win.

    Returns:
        Tensor of shape (n,); positive: violated.
    """
    probabilities = restricted(logits, past | present).softmax(dim=1)
    best_past = restricted(probabilities, past).amax(dim=1).detach()
    return best_past + margin - restricted(probabilities, present).amax(dim=1)


def future_violation(logits: Tensor, future: Tensor, own: Tensor, margin: float) -> Tensor:
    """Measure how far the best class still to come gets near the best class of an image's own task, in logits.

    v_i = max_future logits_i + margin - max_own logits_i.

    Args:
        logits: Tensor of shape (n, N).
        future: Boolean tensor of shape (N,), at least one of them True.
        own: Boolean tensor of shape (N,), or (n, N) where images are of several tasks.
        margin: By how much the own task should win.

    Returns:
        Tensor of shape (n,); positive: violated.
    """
    return restricted(logits, future).amax(dim=1) + margin - restricted(logits, own).amax(dim=1)


def mean_violation(violations: Tensor) -> Tensor:
    """Average what is violated: Σ_i max(v_i, 0) / #{i: v_i > 0}; 0 if nothing is."""
    violated = torch.count_nonzero(violations > 0)
    return violations.relu().sum() / violated.clamp(min=1)


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
