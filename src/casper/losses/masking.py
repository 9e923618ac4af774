"""Masking of logits: exclude columns from a softmax, a maximum or a sum of exponentials."""

import torch
from torch import Tensor


def restricted(logits: Tensor, columns: Tensor) -> Tensor:
    """Exclude all columns except the marked ones from a softmax, a maximum or a sum of exponentials.

    Excluded columns get the most negative finite number. With -inf, a softmax without any remaining column would be
    NaN. The gradient with respect to excluded columns is exactly zero.

    Args:
        logits: Tensor of shape (n, N).
        columns: Boolean tensor of shape (N,) or (n, N); True: the column remains.

    Returns:
        Tensor of shape (n, N).

    Example:
        >>> import torch
        >>> from casper import restricted
        >>> restricted(torch.zeros(1, 3), torch.tensor([True, True, False])).softmax(dim=1)
        tensor([[0.5000, 0.5000, 0.0000]])
    """
    return logits.masked_fill(~columns, torch.finfo(logits.dtype).min)
