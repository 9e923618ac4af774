"""X-DER's constraints: which logits a network should keep below which."""

import torch
from torch import Tensor

from casper.losses.columns import restricted


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
