"""Sharing rows out among classes."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Generator, Tensor


def even_quotas(total: int, classes: Sequence[int], num_classes: int, generator: Generator) -> Tensor:
    """Share `total` rows out evenly among some classes; what is left over goes to random ones of them, one each.

    Args:
        total: The number of rows.
        classes: The classes that share them.
        num_classes: The number N of all classes.
        generator: Where the randomness comes from.

    Returns:
        Tensor of shape (N,), int64; 0 for classes that have no share.
    """
    shares = torch.full((len(classes),), total // len(classes))
    shares[torch.randperm(len(classes), generator=generator)[: total % len(classes)]] += 1
    return torch.zeros(num_classes, dtype=torch.int64).scatter(0, torch.tensor(classes), shares)


def first_of_each(labels: Tensor, quotas: Tensor) -> Tensor:
    """Mark the first items of each class, as many as its quota allows.

    Args:
        labels: Tensor of shape (n,).
        quotas: Tensor of shape (N,).

    Returns:
        Boolean tensor of shape (n,).
    """
    occurrences = F.one_hot(labels, len(quotas)).cumsum(dim=0).gather(1, labels[:, None]).squeeze(1)  # from 1
    return occurrences <= quotas[labels]
