"""Which items fill the memory at a task's end: herding, and even shares among classes."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Generator, Tensor


def herd(features: Tensor, size: int) -> Tensor:
    """Choose items one by one so that the mean of the chosen ones is always as near as it can be to the mean of all.

    With μ the mean of all features and S the sum of the i items chosen so far, the next one is
    argmin_x ||μ - (S + f(x)) / (i + 1)||, each item once, the first of equals. Since
    (i + 1)² times that square is ||r||² - 2 r·f(x) + ||f(x)||² with r = (i + 1) μ - S, a round is one product of a
    matrix and a vector. Welling, "Herding Dynamical Weights to Learn" (ICML 2009); Rebuffi et al., "iCaRL" (CVPR 2017).

    Args:
        features: Tensor of shape (n, d), in the order of the data set.
        size: How many to choose; all if there are fewer.

    Returns:
        Tensor of min(size, n) row numbers, in the order of choice.
    """
    points = features.double()  # float32 would settle near-ties by rounding
    mean = points.mean(dim=0)
    cost_alone = points.square().sum(dim=1)
    missing = mean.clone()  # r: what the next choice would ideally be
    chosen = torch.empty(min(size, len(points)), dtype=torch.int64, device=features.device)
    for place in range(len(chosen)):
        best = torch.addmv(cost_alone, points, missing, alpha=-2).argmin()
        chosen[place] = best
        missing += mean - points[best]
        cost_alone[best] = torch.inf
    return chosen


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
