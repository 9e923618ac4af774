"""Learning from items without a label: MixUp, pseudo-labels, sharpened guesses."""

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from casper._repr import ShowsSettings
from casper.errors import require


@dataclass(frozen=True, repr=False)
class Mixing(ShowsSettings):
    """The partner and the weight of each item in MixUp: mixed_i = weight_i * x_i + (1 - weight_i) * x_partner(i).

    A call mixes any tensor with one row per item. The inputs and the targets of the same items are mixed by the same
    object. Zhang et al., "mixup: Beyond Empirical Risk Minimization" (ICLR 2018).

    Attributes:
        weights: Tensor of shape (n,).
        partners: Tensor of shape (n,), row numbers.

    Example:
        >>> import torch
        >>> from casper import Mixing
        >>> mixing = Mixing(weights=torch.tensor([0.75, 1.0]), partners=torch.tensor([1, 0]))
        >>> mixing(torch.tensor([0.0, 4.0]))
        tensor([1., 4.])
    """

    weights: Tensor
    partners: Tensor

    def __call__(self, values: Tensor) -> Tensor:
        """Mix the rows of a tensor of shape (n, ...)."""
        weights = self.weights.view(-1, *[1] * (values.dim() - 1))
        return weights * values + (1 - weights) * values.index_select(0, self.partners)


def draw_mixing(size: int, concentration: float, generator: Generator, device: torch.device) -> Mixing:
    """Draw a partner for each item by one permutation, and weights of at least 1/2 for the item itself.

    weight = max(l, 1 - l) with l ~ Beta(a, a), one per item, as in Berthelot et al., "MixMatch" (NeurIPS 2019).

    PyTorch's Beta distribution accepts no generator. For a > 1/2 and u, v uniform in [0, 1),
    l = 1/2 + 1/2 * sqrt(1 - u^(2 / (2a - 1))) * cos(2πv) has that distribution (Ulrich, "Computer Generation of
    Distributions on the M-Sphere", 1984): the projection of a point of the plane on one axis. It is exact, uses two
    random numbers per item, and needs no iteration and no other library; max(l, 1 - l) removes a sign.

    Args:
        size: The number n of items.
        concentration: The a of Beta(a, a), above 1/2.
        generator: The source of randomness.
        device: The device of the items.

    Returns:
        The mixing of n items.

    Example:
        >>> import torch
        >>> from casper import draw_mixing
        >>> mixing = draw_mixing(4, 0.75, torch.Generator().manual_seed(0), torch.device("cpu"))
        >>> bool((mixing.weights >= 0.5).all()), sorted(mixing.partners.tolist())
        (True, [0, 1, 2, 3])
    """
    require(concentration > 0.5, "concentration", "above 0.5", concentration)
    radius, angle = torch.rand(2, size, generator=generator)
    radius = (1 - radius ** (2 / (2 * concentration - 1))).sqrt()
    weights = 0.5 + 0.5 * radius * (2 * math.pi * angle).cos().abs()
    return Mixing(weights.to(device), torch.randperm(size, generator=generator).to(device))


def pseudo_labels(labels: Tensor, logits: Tensor, columns: Tensor, threshold: float) -> Tensor:
    """Label each unlabelled item by its highest logit if it exceeds the second highest by more than a threshold.

    Args:
        labels: Tensor of shape (n,); -1: hidden.
        logits: Tensor of shape (n, N).
        columns: Tensor of shape (c,), int64: the classes that compete.
        threshold: The lead that a class must exceed; a single class always does.

    Returns:
        Tensor of shape (n,): given labels are unchanged; -1 if no class leads by more than the threshold.

    Example:
        >>> import torch
        >>> from casper import pseudo_labels
        >>> logits = torch.tensor([[0.0, 9.0], [4.0, 3.0], [8.0, 0.0]])
        >>> pseudo_labels(torch.tensor([0, -1, -1]), logits, torch.tensor([0, 1]), threshold=5.5)
        tensor([ 0, -1,  0])
    """
    competing = logits[:, columns]
    highest, places = competing.topk(min(2, len(columns)), dim=1)
    lead = highest[:, 0] - highest[:, 1] if len(columns) > 1 else torch.full_like(highest[:, 0], torch.inf)
    return torch.where((labels < 0) & (lead > threshold), columns[places[:, 0]], labels)


def sharpened_mean(answers: Tensor, num_views: int, temperature: float = 0.5) -> Tensor:
    """Average the predictions for an item over its views, and sharpen the average: q_c = m_c^(1/T) / Σ_j m_j^(1/T).

    Berthelot et al., "MixMatch: A Holistic Approach to Semi-Supervised Learning" (NeurIPS 2019), whose temperature is
    the default.

    Args:
        answers: Probabilities of shape (num_views * n, N): all items in one view, then all in the next.
        num_views: The number of views of each item.
        temperature: The temperature T; the lower, the sharper.

    Returns:
        Tensor of shape (n, N).

    Example:
        >>> import torch
        >>> from casper import sharpened_mean
        >>> sharpened_mean(torch.tensor([[0.7, 0.3], [0.8, 0.2]]), num_views=2)
        tensor([[0.9000, 0.1000]])
    """
    mean = answers.view(num_views, len(answers) // num_views, -1).mean(dim=0)
    powers = mean.pow(1 / temperature)
    return powers / powers.sum(dim=1, keepdim=True)
