"""Squared Euclidean distances between all pairs of points."""

import torch
from torch import Tensor


def to_unit_scale(points: Tensor) -> tuple[Tensor, Tensor]:
    """Divide points by their largest magnitude and centre them, so that distances neither overflow nor cancel.

    Args:
        points: Tensor of shape (n, d), finite.

    Returns:
        The rescaled points `unit` of shape (n, d) and the scale, a positive scalar tensor:
        points ≈ unit * scale + a constant row.

    Example:
        >>> import torch
        >>> from casper.spectral import to_unit_scale
        >>> unit, scale = to_unit_scale(torch.tensor([[0.0], [4.0]]))
        >>> unit.tolist(), scale.item()
        ([[-0.5], [0.5]], 4.0)
    """
    low, high = points.aminmax()
    scale = torch.maximum(-low, high).clamp(min=torch.finfo(points.dtype).tiny)
    unit = points / scale
    unit -= unit.mean(dim=0)
    return unit, scale


def squared_distances(points: Tensor) -> Tensor:
    """Compute D_ij = ||z_i - z_j||² = ||z_i||² + ||z_j||² - 2 zᵢ·zⱼ: one matrix product instead of n² d differences.

    The formula cancels: distances below about 10⁻³ of the points' norm (float32) are rounding noise. Centre the
    points first (`to_unit_scale`), or pass float64.

    Args:
        points: Tensor of shape (n, d).

    Returns:
        Tensor of shape (n, n), never negative, with a diagonal of zeros.

    Example:
        >>> import torch
        >>> from casper.spectral import squared_distances
        >>> squared_distances(torch.tensor([[0.0, 0.0], [3.0, 4.0]])).tolist()
        [[0.0, 25.0], [25.0, 0.0]]
    """
    gram = points @ points.T  # shape: (n, n)
    norms = gram.diagonal()
    return (norms[:, None] + norms[None, :]).sub_(gram, alpha=2).clamp_(min=0).fill_diagonal_(0)


def refine_small_distances(points: Tensor, distances: Tensor) -> Tensor:
    """Compute those of `squared_distances` again that are mostly rounding, from the differences of their points.

    Args:
        points: Tensor of shape (n, d).
        distances: Their squared distances, of shape (n, n).

    Returns:
        Tensor of shape (n, n): D_ij where it is at least 1,000 roundings of ||z_i||² + ||z_j||², else
        Σ_c (z_ic - z_jc)².

    Example:
        >>> import torch
        >>> from casper.spectral.distances import refine_small_distances, squared_distances
        >>> points = torch.tensor([[1.0], [1.0 + 2**-13]])
        >>> distances = squared_distances(points)
        >>> distances[0, 1].item(), refine_small_distances(points, distances)[0, 1].item() == 2**-26
        (0.0, True)
    """
    norms = points.square().sum(dim=1)
    noise = 1000 * torch.finfo(points.dtype).eps * (norms[:, None] + norms[None, :])
    small = (distances < noise).fill_diagonal_(False)
    rows = small.any(dim=1).nonzero().squeeze(1)  # usually none
    differences = torch.cdist(points[rows], points, compute_mode="donot_use_mm_for_euclid_dist")
    return distances.index_copy(0, rows, torch.where(small[rows], differences.square(), distances[rows]))


def squared_distances_backward(points: Tensor, grad_distances: Tensor) -> Tensor:
    """Pull a gradient with respect to D back to the points: ∂/∂z_i = 2 Σ_j (G_ij + G_ji)(z_i - z_j).

    Args:
        points: Tensor of shape (n, d).
        grad_distances: Tensor G of shape (n, n).

    Returns:
        Tensor of shape (n, d).

    Example:
        >>> import torch
        >>> from casper.spectral import squared_distances_backward
        >>> points = torch.tensor([[0.0], [1.0]])
        >>> squared_distances_backward(points, torch.ones(2, 2)).tolist()  # of the sum 2 (z_1 - z_2)²
        [[-4.0], [4.0]]
    """
    pull = 2 * (grad_distances + grad_distances.T)
    return (torch.diag(pull.sum(dim=1)) - pull) @ points
