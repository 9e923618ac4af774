"""iCaRL's loss: one binary classification per class, with the old network as teacher for old classes."""

import torch
import torch.nn.functional as F
from torch import Tensor


def distillation_targets(labels: Tensor, teacher_logits: Tensor | None, past: Tensor, num_classes: int) -> Tensor:
    """Compute the target probability of every item and class.

    target[i, c] = sigmoid(teacher_logits[i, c]) if class c is a past class, for new images and exemplars alike, and
    1[c = y_i] otherwise. So the targets of an exemplar are 0 for all present classes, and its label is not used.

    Args:
        labels: Tensor of shape (n,).
        teacher_logits: Tensor of shape (n, N); None in the first task, which has no past classes.
        past: Boolean tensor of shape (N,).
        num_classes: The number N of classes.

    Returns:
        Tensor of shape (n, N), values in [0, 1].

    Example:
        >>> import torch
        >>> from casper import distillation_targets
        >>> past = torch.tensor([True, True, False, False])
        >>> distillation_targets(torch.tensor([2]), torch.zeros(1, 4), past, num_classes=4)
        tensor([[0.5000, 0.5000, 1.0000, 0.0000]])
    """
    targets = F.one_hot(labels, num_classes).float()
    return targets if teacher_logits is None else torch.where(past, teacher_logits.sigmoid(), targets)


def distillation_loss(logits: Tensor, targets: Tensor, columns: Tensor) -> Tensor:
    """Compute the binary cross-entropy, averaged over items and marked columns.

    Rebuffi et al., "iCaRL: Incremental Classifier and Representation Learning" (CVPR 2017).

    Args:
        logits: Tensor of shape (n, N).
        targets: Tensor of shape (n, N), see `distillation_targets`.
        columns: Boolean tensor of shape (N,): the classes seen so far.

    Returns:
        Scalar tensor; ln 2 if all logits are zero.

    Example:
        >>> import torch
        >>> from casper import distillation_loss
        >>> targets, seen = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([True, True, False])
        >>> round(distillation_loss(torch.zeros(1, 3), targets, seen).item(), 4)
        0.6931
    """
    total = F.binary_cross_entropy_with_logits(logits, targets, columns.to(logits.dtype), reduction="sum")
    return total / (len(logits) * columns.sum())
