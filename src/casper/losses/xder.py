"""X-DER's losses: constraints on past and future logits, and the transplant of stored logits."""

import torch
from torch import Tensor

from casper.losses.masking import restricted


def past_violation(logits: Tensor, past: Tensor, present: Tensor, margin: float) -> Tensor:
    """Compute by how much the best past class of a new image violates the margin to the best present one.

    With probabilities q = softmax over past and present columns, v_i = max_past q_i + margin - max_present q_i. The
    maximum over the past is held constant: the gradient raises the present classes instead of lowering the past ones.

    Args:
        logits: Tensor of shape (n, N).
        past: Boolean tensor of shape (N,).
        present: Boolean tensor of shape (N,).
        margin: The required lead of the present classes.

    Returns:
        Tensor of shape (n,); positive: violated.

    Example:
        >>> import torch
        >>> from casper import past_violation
        >>> past = torch.tensor([True, False])
        >>> past_violation(torch.tensor([[0.0, 0.0], [0.0, 9.0]]), past, ~past, margin=0.3) > 0
        tensor([ True, False])
    """
    probabilities = restricted(logits, past | present).softmax(dim=1)
    best_past = restricted(probabilities, past).amax(dim=1).detach()
    return best_past + margin - restricted(probabilities, present).amax(dim=1)


def future_violation(logits: Tensor, future: Tensor, own: Tensor, margin: float) -> Tensor:
    """Compute by how much the best future class of an image violates the margin to the best class of its task.

    In logits, v_i = max_future logits_i + margin - max_own logits_i.

    Args:
        logits: Tensor of shape (n, N).
        future: Boolean tensor of shape (N,), at least one of them True.
        own: The classes of the images' task: boolean tensor of shape (N,), or (n, N) for images of several tasks.
        margin: The required lead of the images' task.

    Returns:
        Tensor of shape (n,); positive: violated.

    Example:
        >>> import torch
        >>> from casper import future_violation
        >>> future = torch.tensor([False, False, True])
        >>> future_violation(torch.tensor([[2.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), future, ~future, margin=0.5)
        tensor([-0.5000,  0.5000])
    """
    return restricted(logits, future).amax(dim=1) + margin - restricted(logits, own).amax(dim=1)


def mean_violation(violations: Tensor) -> Tensor:
    """Average the positive violations: Σ_i max(v_i, 0) / #{i: v_i > 0}; 0 if there are none.

    Args:
        violations: Tensor v of shape (n,).

    Returns:
        Scalar tensor.

    Example:
        >>> import torch
        >>> from casper import mean_violation
        >>> mean_violation(torch.tensor([-0.5, 0.5, 1.5])).item()
        1.0
    """
    violated = torch.count_nonzero(violations > 0)
    return violations.relu().sum() / violated.clamp(min=1)


def transplant(stored: Tensor, current: Tensor, labels: Tensor, columns: Tensor, gamma: float) -> Tensor:
    """Replace some columns of stored logits by current ones, scaled down if they would exceed the true class.

    With a_i = stored[i, y_i] and s_i = max over the marked columns of current[i]: the marked columns of row i become
    current[i] * (gamma * a_i / s_i if s_i > a_i else 1). For a_i <= 0 the factor is negative or above gamma. As in the
    released code, this is not corrected (`outgrown` marks such rows), except that a division by s_i = 0 is avoided.

    Boschini et al., "Class-Incremental Continual Learning into the eXtended DER-verse" (TPAMI 2022).

    Args:
        stored: Tensor of shape (n, N); not modified.
        current: Tensor of shape (n, N).
        labels: Tensor of shape (n,): the true classes, outside the marked columns.
        columns: Boolean tensor of shape (N,): the columns to replace.
        gamma: The ratio of the largest replaced logit to that of the true class, if scaled.

    Returns:
        Tensor of shape (n, N).

    Example:
        >>> import torch
        >>> from casper import transplant
        >>> stored, current = torch.tensor([[2.0, 0.0]]), torch.tensor([[0.0, 4.0]])
        >>> transplant(stored, current, torch.tensor([0]), torch.tensor([False, True]), gamma=0.5)
        tensor([[2., 1.]])
    """
    truth, largest = _compared(stored, current, labels, columns)
    scale = torch.where((largest > truth) & (largest != 0), gamma * truth / largest, 1.0)
    return torch.where(columns, current * scale, stored)


def outgrown(stored: Tensor, current: Tensor, labels: Tensor, columns: Tensor) -> Tensor:
    """Mark the rows that `transplant` scales by the logit of a true class that is not positive.

    Args:
        stored: As in `transplant`.
        current: As in `transplant`.
        labels: As in `transplant`.
        columns: As in `transplant`.

    Returns:
        Boolean tensor of shape (n,).

    Example:
        >>> import torch
        >>> from casper import outgrown
        >>> stored, current = torch.tensor([[2.0, 0.0], [-1.0, 0.0]]), torch.tensor([[0.0, 4.0], [0.0, 4.0]])
        >>> outgrown(stored, current, torch.tensor([0, 0]), torch.tensor([False, True]))
        tensor([False,  True])
    """
    truth, largest = _compared(stored, current, labels, columns)
    return ((largest > truth) & (truth <= 0)).squeeze(1)


def _compared(stored: Tensor, current: Tensor, labels: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    truth = stored.gather(1, labels[:, None])  # shape: (n, 1)
    largest = current.masked_fill(~columns, -torch.inf).amax(dim=1, keepdim=True)  # shape: (n, 1)
    return truth, largest
