"""PODNet's losses: distillation of pooled activations, and a hinge loss on similarities to proxies.

Douillard et al., "PODNet: Pooled Outputs Distillation for Small-Tasks Incremental Learning" (ECCV 2020), in
the form of the released code.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from casper.losses.masking import restricted


def pod_spatial(maps: Sequence[Tensor], old_maps: Sequence[Tensor]) -> Tensor:
    """Compare where along width and height the maps are active, with the old network.

    A map of shape (n, c, h, w) is squared and summed over h, giving c*w values, and over w, giving c*h; both together
    are scaled to unit length per image: a. The loss of a map is the mean over images of ||a - a_old||; the mean over
    maps is returned.

    Args:
        maps: Tensors of shape (n, c, h, w), one per stage.
        old_maps: The maps of the old network.

    Returns:
        Scalar tensor in [0, sqrt 2]; the gradient is 0 where the maps are equal.

    Example:
        >>> import torch
        >>> from casper import pod_spatial
        >>> maps = [torch.ones(2, 3, 4, 4)]
        >>> pod_spatial(maps, [2 * maps[0]]).item()  # the scale of a map does not matter
        0.0
    """
    distances = [
        torch.linalg.vector_norm(_profile(new) - _profile(old), dim=1).mean()
        for new, old in zip(maps, old_maps, strict=True)
    ]
    return torch.stack(distances).mean()


def pod_flat(last_map: Tensor, old_last_map: Tensor) -> Tensor:
    """Compare the pooled last map with the old network's: the mean over images of 1 - cos.

    Args:
        last_map: Tensor of shape (n, c, h, w), before the last ReLU.
        old_last_map: The last map of the old network.

    Returns:
        Scalar tensor in [0, 2].

    Example:
        >>> import torch
        >>> from casper import pod_flat
        >>> last_map = torch.ones(2, 4, 3, 3)
        >>> pod_flat(last_map, -last_map).item()
        2.0
    """
    pooled, old_pooled = (tensor.float().mean(dim=(2, 3)) for tensor in (last_map, old_last_map))
    return (1 - F.cosine_similarity(pooled, old_pooled)).mean()


def _profile(stage_map: Tensor) -> Tensor:
    # Channels last, the memory layout of the maps: three times as fast. Maps may be in half precision.
    squared = stage_map.permute(0, 2, 3, 1).float().square()
    return F.normalize(torch.cat([squared.sum(dim=1).flatten(1), squared.sum(dim=2).flatten(1)], dim=1))


def proxy_hinge(
    scores: Tensor,
    labels: Tensor,
    columns: Tensor,
    *,
    eta: float = 1.0,
    margin: float = 0.0,
) -> Tensor:
    """Compute the mean over items of relu(log Σ_{c != y} exp(eta * s_c) - eta * (s_y - margin)).

    It is zero for an item whose true class exceeds the soft maximum of the other scores by the margin. The released
    code subtracts the margin from every score, so that it cancels: margin 0. The computation uses a difference of
    logarithms instead of the logarithm of a ratio, so that no score underflows.

    Args:
        scores: Tensor of shape (n, N).
        labels: Tensor of shape (n,).
        columns: Boolean tensor of shape (N,): the classes seen so far.
        eta: The sharpness of the soft maximum.
        margin: The required lead of the true class.

    Returns:
        Scalar tensor.

    Example:
        >>> import torch
        >>> from casper import proxy_hinge
        >>> scores, seen = torch.tensor([[0.0, -1.0, 9.0]]), torch.tensor([True, True, False])
        >>> proxy_hinge(scores, torch.tensor([1]), seen).item()
        1.0
    """
    of_label = F.one_hot(labels, scores.shape[1]).bool()
    others = restricted(eta * scores, columns & ~of_label).logsumexp(dim=1)
    truth = scores.gather(1, labels[:, None]).squeeze(1)
    return (others - eta * (truth - margin)).relu().mean()
