"""A head that scores a class by its similarity to several proxies."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from casper.errors import require


class ProxyHead(nn.Module):
    """Local-similarity classifier of PODNet: K proxies per class, on a sphere of radius s with the features.

    With f = s * features / ||features|| and the proxies θ_{c,k} scaled alike, r_{c,k} = -||f - θ_{c,k}||² and
    logit_c = Σ_k softmax_k(r_c)_k * r_{c,k}. Since both are of length s, r = -2 s² (1 - cos). Douillard et al.,
    "PODNet" (ECCV 2020).
    """

    def __init__(self, dim: int, num_classes: int, *, num_proxies: int = 10, scale: float = 3.0) -> None:
        """Build the head.

        Args:
            dim: The number of features.
            num_classes: The number N of classes.
            num_proxies: The number K of proxies per class. Default 10: the paper's.
            scale: The radius s. Default 3: the paper's.
        """
        super().__init__()
        require(num_proxies >= 1, "num_proxies", "at least 1", num_proxies)
        require(0 < scale < math.inf, "scale", "a positive finite number", scale)
        self.scale = scale
        # Uniform within 1 / sqrt(K N), as the released code's initialisation comes out.
        bound = 1 / math.sqrt(num_proxies * num_classes)
        self.proxies = nn.Parameter(torch.empty(num_classes, num_proxies, dim).uniform_(-bound, bound))

    def forward(self, features: Tensor) -> Tensor:
        """Compute logits of shape (n, N), none of them positive."""
        num_classes, num_proxies, dim = self.proxies.shape
        directions = F.normalize(self.proxies, dim=2).view(-1, dim)
        with torch.autocast(features.device.type, enabled=False):  # differences of cosines need the digits
            cosines = F.normalize(features.to(directions.dtype)) @ directions.T
        similarities = 2 * self.scale**2 * (cosines - 1).view(-1, num_classes, num_proxies)
        return (similarities.softmax(dim=2) * similarities).sum(dim=2)

    @torch.no_grad()
    def imprint(self, label: int, centres: Tensor) -> None:
        """Set a class's proxies to given vectors, shape (k, dim); if there are fewer than K, the others stay."""
        self.proxies[label, : len(centres)] = centres
