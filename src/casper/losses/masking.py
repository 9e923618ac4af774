"""Let some classes compete and others not."""

import torch
from torch import Tensor


def restricted(logits: Tensor, columns: Tensor) -> Tensor:
    """Take all columns but the marked ones out of a softmax, a maximum or a sum of exponentials.

    They get the most negative finite number, not -inf, of which a softmax is NaN where no column is left. The gradient
    with respect to them is exactly zero.

    Args:
        logits: Tensor of shape (n, N).
        columns: Boolean tensor of shape (N,) or (n, N); True: the column stays.
    """
    return logits.masked_fill(~columns, torch.finfo(logits.dtype).min)
