"""ER-ACE's asymmetric cross-entropy: the stream's loss does not lower the logits of old classes."""

import torch
import torch.nn.functional as F
from torch import Tensor

from casper.losses.masking import restricted


def kept_columns(labels: Tensor, highest_seen: Tensor, num_classes: int) -> Tensor:
    """Mark the columns that take part in the softmax of a stream batch.

    Column c takes part if class c occurs in the batch, or if c >= m, the highest label in the stream so far: these are
    the future classes. If m is the last class, there are no future classes, and only classes in the batch take part.
    This is the released code's rule. It has two consequences: a current class below m that is absent from the batch is
    masked like an old one, and column m takes part even if class m is absent.

    Args:
        labels: Tensor of shape (n,).
        highest_seen: Scalar tensor m, which includes these labels.
        num_classes: The number of columns N.

    Returns:
        Boolean tensor of shape (N,); True: the column takes part.

    Example:
        >>> import torch
        >>> from casper import kept_columns
        >>> kept_columns(torch.tensor([2, 3]), highest_seen=torch.tensor(3), num_classes=6)
        tensor([False, False,  True,  True,  True,  True])
    """
    columns = torch.arange(num_classes, device=labels.device)
    marked = (columns >= highest_seen) & (highest_seen < num_classes - 1)
    marked[labels] = True
    return marked


def asymmetric_cross_entropy(logits: Tensor, labels: Tensor, highest_seen: Tensor) -> Tensor:
    """Compute cross-entropy over `kept_columns`; the gradient with respect to the other columns is exactly zero.

    Caccia et al., "New Insights on Reducing Abrupt Representation Change in Online Continual Learning" (ICLR 2022).

    Args:
        logits: Tensor of shape (n, N).
        labels: Tensor of shape (n,).
        highest_seen: Scalar tensor, see `kept_columns`.

    Returns:
        Scalar tensor, the mean over the batch.

    Example:
        >>> import torch
        >>> from casper import asymmetric_cross_entropy
        >>> logits = torch.zeros(2, 6)  # 4 of 6 columns take part: ln 4
        >>> round(asymmetric_cross_entropy(logits, torch.tensor([2, 3]), torch.tensor(3)).item(), 4)
        1.3863
    """
    return F.cross_entropy(restricted(logits, kept_columns(labels, highest_seen, logits.shape[1])), labels)
