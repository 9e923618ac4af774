"""MixUp: convex combinations of items, inputs and targets alike."""

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from casper.errors import require


@dataclass(frozen=True)
class Mixing:
    """Which item each item is mixed with, and how: mixed_i = weight_i * x_i + (1 - weight_i) * x_partner(i).

    Calling it mixes anything that has one row per item: inputs and targets of the same items go through the same one.
    Zhang et al., "mixup: Beyond Empirical Risk Minimization" (ICLR 2018).

    Attributes:
        weights: Tensor of shape (n,).
        partners: Tensor of shape (n,), row numbers.
    """

    weights: Tensor
    partners: Tensor

    def __call__(self, values: Tensor) -> Tensor:
        """Mix the rows of a tensor of shape (n, ...)."""
        weights = self.weights.view(-1, *[1] * (values.dim() - 1))
        return weights * values + (1 - weights) * values.index_select(0, self.partners)


def draw_mixing(size: int, concentration: float, generator: Generator, device: torch.device) -> Mixing:
    """Draw a partner for each item, all by one permutation, and weights in favour of the item itself.

    weight = max(l, 1 - l) with l ~ Beta(a, a), one for each item, as in Berthelot et al., "MixMatch" (NeurIPS 2019).

    PyTorch's Beta takes no generator. For a > 1/2 and u, v uniform in [0, 1),
    l = 1/2 + 1/2 * sqrt(1 - u^(2 / (2a - 1))) * cos(2πv) has that distribution (Ulrich, "Computer Generation of
    Distributions on the M-Sphere", 1984): the shadow, on one axis, of a point of the plane. It is exact, takes two
    numbers per item whatever they are, and needs no iteration and no other library; max(l, 1 - l) drops a sign.

    Args:
        size: The number n of items.
        concentration: The a of Beta(a, a), above 1/2.
        generator: Where the randomness comes from.
        device: Where the items are.
    """
    require(concentration > 0.5, "concentration", "above 0.5", concentration)
    radius, angle = torch.rand(2, size, generator=generator)
    radius = (1 - radius ** (2 / (2 * concentration - 1))).sqrt()
    weights = 0.5 + 0.5 * radius * (2 * math.pi * angle).cos().abs()
    return Mixing(weights.to(device), torch.randperm(size, generator=generator).to(device))
