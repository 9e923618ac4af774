"""Learning from items without a label: MixUp, pseudo-labels, sharpened guesses."""

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from casper._repr import ShowsSettings
from casper.errors import require


@dataclass(frozen=True, repr=False)
class Mixing(ShowsSettings):
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


def pseudo_labels(labels: Tensor, logits: Tensor, columns: Tensor, threshold: float) -> Tensor:
    """Label the items without a label by their highest logit, where it leads the second highest by enough.

    Args:
        labels: Tensor of shape (n,); -1: hidden.
        logits: Tensor of shape (n, N).
        columns: Tensor of shape (c,), int64: the classes that compete.
        threshold: By how much a class must lead; a class alone always does.

    Returns:
        Tensor of shape (n,): labels that were there stay, and -1 stays where no class leads by more than the threshold.
    """
    competing = logits[:, columns]
    highest, places = competing.topk(min(2, len(columns)), dim=1)
    lead = highest[:, 0] - highest[:, 1] if len(columns) > 1 else torch.full_like(highest[:, 0], torch.inf)
    return torch.where((labels < 0) & (lead > threshold), columns[places[:, 0]], labels)


def sharpened_mean(answers: Tensor, num_views: int, temperature: float = 0.5) -> Tensor:
    """Average an item's answers over its views, and make the average more certain: q_c = m_c^(1/T) / Σ_j m_j^(1/T).

    Berthelot et al., "MixMatch: A Holistic Approach to Semi-Supervised Learning" (NeurIPS 2019), whose temperature is
    the default.

    Args:
        answers: Probabilities of shape (num_views * n, N): all items in one view, then all in the next.
        num_views: The number of views of each item.
        temperature: The T; the lower, the more certain.

    Returns:
        Tensor of shape (n, N).
    """
    mean = answers.view(num_views, len(answers) // num_views, -1).mean(dim=0)
    powers = mean.pow(1 / temperature)
    return powers / powers.sum(dim=1, keepdim=True)
