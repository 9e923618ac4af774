"""Select the items that fill the memory at the end of a task: herding, and even quotas per class."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Generator, Tensor


def herd(features: Tensor, size: int) -> Tensor:
    """Choose items one by one so that the mean of the chosen items stays as close as possible to the mean of all.

    With μ the mean of all features and S the sum of the i items chosen so far, the next one is
    argmin_x ||μ - (S + f(x)) / (i + 1)||, each item once, the first one in a tie. Since
    (i + 1)² times that square is ||r||² - 2 r·f(x) + ||f(x)||² with r = (i + 1) μ - S, a round is one product of a
    matrix and a vector. Welling, "Herding Dynamical Weights to Learn" (ICML 2009); Rebuffi et al., "iCaRL" (CVPR 2017).

    Args:
        features: Tensor of shape (n, d), in the order of the data set.
        size: The number of items to choose; all if there are fewer.

    Returns:
        Tensor of min(size, n) row numbers, in the order of choice.

    Example:
        >>> import torch
        >>> from casper.memory import herd
        >>> herd(torch.tensor([[0.0], [1.0], [2.0], [9.0]]), 2)  # the mean of all is 3
        tensor([2, 1])
    """
    points = features.double()  # in float32, rounding would decide near-ties
    mean = points.mean(dim=0)
    cost_alone = points.square().sum(dim=1)
    missing = mean.clone()  # r: the ideal next item
    chosen = torch.empty(min(size, len(points)), dtype=torch.int64, device=features.device)
    for place in range(len(chosen)):
        best = torch.addmv(cost_alone, points, missing, alpha=-2).argmin()
        chosen[place] = best
        missing += mean - points[best]
        cost_alone[best] = torch.inf
    return chosen


def even_quotas(total: int, classes: Sequence[int], num_classes: int, generator: Generator) -> Tensor:
    """Divide `total` rows evenly among some classes; the remainder goes to random classes, one row each.

    Args:
        total: The number of rows.
        classes: The classes that share them.
        num_classes: The number N of all classes.
        generator: The source of randomness.

    Returns:
        Tensor of shape (N,), int64; 0 for classes without a share.

    Example:
        >>> import torch
        >>> from casper.memory import even_quotas
        >>> even_quotas(12, [0, 2], 4, torch.Generator())
        tensor([6, 0, 6, 0])
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

    Example:
        >>> import torch
        >>> from casper.memory import first_of_each
        >>> first_of_each(torch.tensor([0, 0, 1, 0]), quotas=torch.tensor([2, 1]))
        tensor([ True,  True,  True, False])
    """
    occurrences = F.one_hot(labels, len(quotas)).cumsum(dim=0).gather(1, labels[:, None]).squeeze(1)  # from 1
    return occurrences <= quotas[labels]
