"""The CaSpeR loss: open the spectral gap of the latent geometry graph at a given number of communities."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from casper.errors import ParameterError, require
from casper.spectral.checks import check_count, check_features
from casper.spectral.distances import (
    refine_small_distances,
    squared_distances,
    squared_distances_backward,
    to_unit_scale,
)
from casper.spectral.eigenpairs import smallest_eigenpairs
from casper.spectral.knn_graph import knn_graph, num_others, soft_neighbors, soft_neighbors_backward
from casper.spectral.laplacian import normalized_laplacian, normalized_laplacian_backward

Convention = Literal["paper", "released"]
SurrogateMetric = Literal["squared", "plain"]


@dataclass(frozen=True)
class GapConvention:
    """The choices on which the paper and its released code differ, or which neither settles.

    Attributes:
        gap_offset: 0: the gap follows the p-th eigenvalue (the paper's equation). 1: one later (released code).
        surrogate_metric: The distances behind the soft choice of neighbours: squared (released code) or plain (the
            paper's pseudo-code). The value of the loss is the same; only its gradient differs.
        self_neighbor: Whether each point counts as the first of its k neighbours.

    Example:
        >>> from casper.spectral import GapConvention
        >>> GapConvention(gap_offset=1)
        GapConvention(gap_offset=1, surrogate_metric='squared', self_neighbor=False)
    """

    gap_offset: int = 0
    surrogate_metric: SurrogateMetric = "squared"
    self_neighbor: bool = False

    def __post_init__(self) -> None:
        require(type(self.gap_offset) is int and self.gap_offset in (0, 1), "gap_offset", "0 or 1", self.gap_offset)
        known = isinstance(self.surrogate_metric, str) and self.surrogate_metric in get_args(SurrogateMetric)
        require(known, "surrogate_metric", "'squared' or 'plain'", self.surrogate_metric)
        require(isinstance(self.self_neighbor, bool), "self_neighbor", "True or False", self.self_neighbor)


CONVENTIONS: dict[str, GapConvention] = {"paper": GapConvention(), "released": GapConvention(gap_offset=1)}


def gap_convention(
    convention: Convention | GapConvention = "paper",
    gap_offset: int | None = None,
    surrogate_metric: SurrogateMetric | None = None,
    self_neighbor: bool | None = None,
) -> GapConvention:
    """Return a convention with the given choices replaced; raises `ValueError` for an unknown choice.

    Example:
        >>> from casper.spectral import gap_convention
        >>> gap_convention("released", self_neighbor=True)
        GapConvention(gap_offset=1, surrogate_metric='squared', self_neighbor=True)
    """
    known = isinstance(convention, GapConvention) or (isinstance(convention, str) and convention in CONVENTIONS)
    require(known, "convention", "'paper', 'released' or a GapConvention", convention)
    preset = convention if isinstance(convention, GapConvention) else CONVENTIONS[convention]
    return GapConvention(
        preset.gap_offset if gap_offset is None else gap_offset,
        preset.surrogate_metric if surrogate_metric is None else surrogate_metric,
        preset.self_neighbor if self_neighbor is None else self_neighbor,
    )


def spectral_gap_loss(
    features: Tensor,
    num_communities: int,
    num_neighbors: int,
    *,
    convention: Convention | GapConvention = "paper",
    gap_offset: int | None = None,
    surrogate_metric: SurrogateMetric | None = None,
    self_neighbor: bool | None = None,
) -> Tensor:
    """Compute the CaSpeR loss of a set of features: the smaller, the better they separate into communities.

    The symmetric k-NN graph of the features has the normalised Laplacian L with eigenvalues λ_1 <= λ_2 <= ... <= λ_n
    in [0, 2]. With p communities, o = `gap_offset` and g = p + o,

        loss = Σ_{j=1..g} λ_j - λ_{g+1}.

    It is smallest when the graph consists of p densely connected parts that share no edge: for p cliques of s points
    each and k = s - 1 neighbours it is -s/(s - 1). A class of s points cannot be such a part if k >= s, which holds for
    most settings published with the paper; `self_neighbor` raises this bound by one.

    "Latent Spectral Regularization for Continual Learning", Equation 5 and Algorithm 1. The gradient through the
    choice of neighbours follows the authors' released code (see `knn_graph`).

    float32 is the reference: every published number was computed in it, and it is more than a rounding of float64. On
    trained features the soft choice saturates, and then the two types take different branches (see `soft_neighbors`):
    their values agree, but their gradients have a cosine of 0.0 to 0.9, in the authors' code as in this one.

    Args:
        features: Tensor of shape (n, d) with n > num_communities + gap_offset: float32 (the reference), float64, or
            float16 and bfloat16, which are computed in float32.
        num_communities: The number of communities p, at least 1: the number of classes among the features.
        num_neighbors: The number of neighbours k, at least 1; values above n - 1 are reduced to n - 1.
        convention: `"paper"`: the published formula; `"released"`: the formula of the released code (gap_offset 1);
            or a `GapConvention`.
        gap_offset: 0 or 1; overrides the convention. See `GapConvention`.
        surrogate_metric: `"squared"` or `"plain"`; overrides the convention. See `GapConvention`.
        self_neighbor: Whether each point is the first of its k neighbours; overrides the convention. If True, a point
            chooses k - 1 others, and the adjacency has a unit diagonal.

    Returns:
        Scalar tensor, float32 (float64 for float64 features), with a gradient that is finite for every finite input.

    Raises:
        ParameterError: If the features are not a finite floating-point matrix, or a parameter has the wrong type or is
            out of range. It is a `ValueError`.
        RuntimeError: In backward with `create_graph=True`: the loss has no second derivative.

    Example:
        >>> import torch
        >>> from casper import spectral_gap_loss
        >>> features = torch.eye(3).repeat_interleave(4, dim=0).requires_grad_()  # 3 classes of 4 equal points
        >>> loss = spectral_gap_loss(features, num_communities=3, num_neighbors=3)
        >>> round(loss.item(), 4)
        -1.3333
        >>> loss.backward()
    """
    choices = gap_convention(convention, gap_offset, surrogate_metric, self_neighbor)
    _check(features, num_communities, num_neighbors, choices.gap_offset)
    gap = int(num_communities) + int(choices.gap_offset)  # NumPy's small integers would overflow
    with torch.autocast(features.device.type, enabled=False):
        loss: Tensor = _SpectralGap.apply(features, gap, int(num_neighbors), choices)  # type: ignore[no-untyped-call]
    return loss


class _SpectralGap(torch.autograd.Function):
    """The loss with an explicit backward pass: one eigen-decomposition, and no intermediate operation is recorded."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, gap: int, num_neighbors: int, choices: GapConvention) -> Tensor:
        ctx.dtype = features.dtype
        points, scale = to_unit_scale(features.to(torch.promote_types(features.dtype, torch.float32)))
        distances = squared_distances(points)
        adjacency = knn_graph(distances, num_neighbors, choices.self_neighbor)
        values, vectors = smallest_eigenpairs(normalized_laplacian(adjacency), gap + 1)
        signs = torch.ones_like(values)  # loss = Σ_j signs_j λ_j
        signs[gap] = -1
        loss = values @ signs
        if not ctx.needs_input_grad[0]:
            return loss  # the soft choice is needed only for the gradient

        if choices.surrogate_metric == "plain":
            distances = refine_small_distances(points, distances)  # the slope of the root is steep there
        logits, slope = _soft_logits(distances, scale, choices.surrogate_metric)
        rounds = soft_neighbors(logits, num_others(len(points), num_neighbors, choices.self_neighbor))
        ctx.save_for_backward(points, scale, adjacency, vectors, signs, slope, *rounds)
        return loss

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise RuntimeError("spectral_gap_loss has no second derivative: call backward without create_graph=True")
        points, scale, adjacency, vectors, signs, slope, *rounds = ctx.saved_tensors
        with torch.autocast(points.device.type, enabled=False):
            grad_laplacian = (vectors * (signs * gradients[0])) @ vectors.T
            grad_adjacency = normalized_laplacian_backward(adjacency, grad_laplacian)
            grad_logits = soft_neighbors_backward(rounds, grad_adjacency + grad_adjacency.T)
            grad_points = squared_distances_backward(points, grad_logits * slope)
        # Values that overflow the features' type (65,504 in float16) are clamped to its largest value.
        limits = torch.finfo(ctx.dtype)
        return grad_points.mul_(scale).clamp_(limits.min, limits.max).to(ctx.dtype), None, None, None


def _soft_logits(distances: Tensor, scale: Tensor, metric: SurrogateMetric) -> tuple[Tensor, Tensor]:
    """Compute l⁽¹⁾ = -D (or minus its root) up to a constant per row, which a softmax ignores, and ∂l/∂D.

    `distances` are squared and at unit scale. Their square scale is bounded so that the logits are finite and ordered
    for features of any magnitude; beyond the bounds the softmax is saturated or flat anyway.
    """
    others = distances.clone().fill_diagonal_(torch.inf)
    square_scale = scale.square().clamp(1e-37, 1e30)
    if metric == "squared":
        nearest = others.amin(dim=1, keepdim=True)
        return (nearest - others) * square_scale, -torch.ones_like(scale)
    roots = (others * square_scale + 1e-12).sqrt()
    slope = (-0.5 / roots).masked_fill_(distances == 0, 0)  # points that coincide do not move each other
    return roots.amin(dim=1, keepdim=True) - roots, slope


def _check(features: Tensor, num_communities: int, num_neighbors: int, gap_offset: int) -> None:
    check_features(features)
    is_tensor = isinstance(num_communities, Tensor)
    require(not is_tensor, "num_communities", "an integer (the loss takes no labels)", num_communities)
    check_count(num_communities, "num_communities")
    check_count(num_neighbors, "num_neighbors")
    if len(features) <= int(num_communities) + int(gap_offset):
        least = f"a matrix of more than num_communities + gap_offset = {num_communities} + {gap_offset} rows"
        raise ParameterError("features", least, f"{len(features)} rows")
