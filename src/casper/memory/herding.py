"""Herding: the items whose mean stays nearest the mean of all."""

import torch
from torch import Tensor


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
