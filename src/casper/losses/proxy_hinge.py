"""PODNet's classification loss on similarities to proxies."""

import torch.nn.functional as F
from torch import Tensor

from casper.losses.columns import restricted


def proxy_hinge(
    scores: Tensor,
    labels: Tensor,
    columns: Tensor,
    *,
    eta: float = 1.0,
    margin: float = 0.0,
) -> Tensor:
    """Compute the mean over items of relu(log Σ_{c != y} exp(eta * s_c) - eta * (s_y - margin)).

    It is zero for an item whose own score exceeds the soft maximum of the others by the margin. The released code
    subtracts the margin from every score, where it cancels: margin 0. Written with a sum of logarithms, not with the
    logarithm of a ratio, so that no score underflows.

    Args:
        scores: Tensor of shape (n, N).
        labels: Tensor of shape (n,).
        columns: Boolean tensor of shape (N,): the classes met so far.
        eta: The sharpness.
        margin: By how much the own score should win.

    Returns:
        Scalar tensor.
    """
    own = F.one_hot(labels, scores.shape[1]).bool()
    others = restricted(eta * scores, columns & ~own).logsumexp(dim=1)
    truth = scores.gather(1, labels[:, None]).squeeze(1)
    return (others - eta * (truth - margin)).relu().mean()
