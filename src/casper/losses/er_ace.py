"""ER-ACE's asymmetric cross-entropy: the stream's loss does not push down the logits of old classes."""

import torch
import torch.nn.functional as F
from torch import Tensor

from casper.losses.masking import restricted


def kept_columns(labels: Tensor, highest_seen: Tensor, num_classes: int) -> Tensor:
    """Mark the columns that take part in the softmax of a stream batch.

    A column c is kept if class c occurs in the batch, or if c >= m, the highest label the stream has ever shown: the
    classes still to come. If m is the last class there are none to come, and only classes in the batch are kept. This
    is the released code's rule, with its two consequences: a current class that is absent from the batch and below m
    is masked like an old one, and column m itself is kept even where it is absent.

    Args:
        labels: Tensor of shape (n,).
        highest_seen: Scalar tensor m, these labels included.
        num_classes: The number of columns N.

    Returns:
        Boolean tensor of shape (N,).
    """
    columns = torch.arange(num_classes, device=labels.device)
    kept = (columns >= highest_seen) & (highest_seen < num_classes - 1)
    kept[labels] = True
    return kept


def asymmetric_cross_entropy(logits: Tensor, labels: Tensor, highest_seen: Tensor) -> Tensor:
    """Compute cross-entropy over the kept columns; the gradient with respect to the others is exactly zero.

    Caccia et al., "New Insights on Reducing Abrupt Representation Change in Online Continual Learning" (ICLR 2022).

    Args:
        logits: Tensor of shape (n, N).
        labels: Tensor of shape (n,).
        highest_seen: Scalar tensor, see `kept_columns`.

    Returns:
        Scalar tensor, the mean over the batch.
    """
    return F.cross_entropy(restricted(logits, kept_columns(labels, highest_seen, logits.shape[1])), labels)
