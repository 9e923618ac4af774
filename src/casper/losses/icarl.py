"""iCaRL's loss: every class a yes-or-no question, the old ones answered by the old network."""

import torch
import torch.nn.functional as F
from torch import Tensor


def distillation_targets(labels: Tensor, teacher_logits: Tensor | None, past: Tensor, num_classes: int) -> Tensor:
    """Say, for every item and class, what the network should answer.

    target[i, c] = sigmoid(teacher_logits[i, c]) where class c is of the past, for new images and exemplars alike;
    1[c = y_i] elsewhere. So an exemplar has no 1 among the present classes, and its own label is not used.

    Args:
        labels: Tensor of shape (n,).
        teacher_logits: Tensor of shape (n, N); None in the first task, where nothing is past.
        past: Boolean tensor of shape (N,).
        num_classes: The number N of classes.

    Returns:
        Tensor of shape (n, N), values in [0, 1].
    """
    targets = F.one_hot(labels, num_classes).float()
    return targets if teacher_logits is None else torch.where(past, teacher_logits.sigmoid(), targets)


def distillation_loss(logits: Tensor, targets: Tensor, columns: Tensor) -> Tensor:
    """Compute the binary cross-entropy, the mean over items and marked columns.

    Rebuffi et al., "iCaRL: Incremental Classifier and Representation Learning" (CVPR 2017).

    Args:
        logits: Tensor of shape (n, N).
        targets: Tensor of shape (n, N), see `distillation_targets`.
        columns: Boolean tensor of shape (N,): the classes met so far.

    Returns:
        Scalar tensor; ln 2 where all logits are zero.
    """
    total = F.binary_cross_entropy_with_logits(logits, targets, columns.to(logits.dtype), reduction="sum")
    return total / (len(logits) * columns.sum())
