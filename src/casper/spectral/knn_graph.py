"""The latent geometry graph: a binary symmetric k-NN graph, and the soft graph that provides its gradient.

The k-NN graph is piecewise constant in the features, so its gradient is zero. As in the code released with the paper,
the graph A takes its value from the hard choice of neighbours and its gradient from a soft one (straight-through):
A = H + (W + Wᵀ) - stopgrad(W + Wᵀ).  W + Wᵀ is neither halved nor clipped: neighbours that chose each other have
double weight in the gradient. The soft choice is that of Plötz and Roth, "Neural Nearest Neighbors Networks"
(NeurIPS 2018), at temperature 1.
"""

import torch
from torch import Tensor

# Bounds d log(1 - w)/dw if one neighbour has all the weight. 1e-7: as in the released code.
_GUARD = 1e-7


def nearest_neighbors(distances: Tensor, num_neighbors: int) -> Tensor:
    """Mark for each point its `num_neighbors` nearest other points.

    Args:
        distances: Tensor of shape (n, n); the diagonal is ignored.
        num_neighbors: The number of points to mark in each row, at most n - 1.

    Returns:
        Boolean tensor of shape (n, n), row i marking the neighbours of i; not symmetric, diagonal False.

    Example:
        >>> import torch
        >>> from casper.spectral import nearest_neighbors, squared_distances
        >>> distances = squared_distances(torch.tensor([[0.0], [1.0], [3.0]]))
        >>> nearest_neighbors(distances, 1).nonzero().tolist()
        [[0, 1], [1, 0], [2, 1]]
    """
    others = distances.clone().fill_diagonal_(torch.inf)
    nearest = others.topk(num_neighbors, dim=1, largest=False).indices  # shape: (n, num_neighbors)
    return torch.zeros_like(others, dtype=torch.bool).scatter_(1, nearest, True)


def knn_graph(distances: Tensor, num_neighbors: int, self_neighbor: bool = False) -> Tensor:
    """Build the symmetric k-NN graph: an edge wherever either end chose the other.

    Args:
        distances: Tensor of shape (n, n).
        num_neighbors: The number of neighbours k each point chooses, at least 1; reduced to n - 1 if larger.
        self_neighbor: Whether each point is the first of its k neighbours. If True, it chooses k - 1 others, and the
            diagonal is 1 instead of 0.

    Returns:
        Adjacency H of shape (n, n): binary, symmetric, with the dtype of `distances`. It carries no gradient.

    Example:
        >>> import torch
        >>> from casper.spectral import knn_graph, squared_distances
        >>> distances = squared_distances(torch.tensor([[0.0], [1.0], [3.0]]))
        >>> knn_graph(distances, 1).tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    chosen = nearest_neighbors(distances.detach(), num_others(len(distances), num_neighbors, self_neighbor))
    adjacency = (chosen | chosen.T).to(distances.dtype)
    return adjacency.fill_diagonal_(1) if self_neighbor else adjacency


def num_others(num_points: int, num_neighbors: int, self_neighbor: bool) -> int:
    """Count the other points each point chooses: k, or k - 1 if it is its first neighbour, and at most n - 1."""
    return min(num_neighbors - self_neighbor, num_points - 1)


def soft_neighbors(logits: Tensor, num_rounds: int) -> list[Tensor]:
    """Choose neighbours softly, one round after the other without replacement.

    With l⁽¹⁾ = -D and, for r = 1..k,  w⁽ʳ⁾ = softmax_row(l⁽ʳ⁾),  l⁽ʳ⁺¹⁾ = l⁽ʳ⁾ + log(1 - w⁽ʳ⁾). The soft graph is
    W = Σ_r w⁽ʳ⁾; each of its rows sums to k.

    The result depends on the floating-point type where a round saturates, as it does on trained features. Let the
    nearest point be nearer than the second by Δ in squared distance, so that 1 - w ≈ exp(-Δ). In float32 this rounds to
    0 from Δ ≈ 17 on: the nearest point leaves the later rounds, as in a choice without replacement. In float64 this
    happens from Δ ≈ 37 on; below, its next logit is l - Δ, that of the second nearest, and they share the next round.
    float32 is the reference, because every published number was computed in it.

    Args:
        logits: Tensor l⁽¹⁾ of shape (n, n), minus the distances; -inf on the diagonal.
        num_rounds: The number of rounds k, at most n - 1.

    Returns:
        The k tensors w⁽ʳ⁾ of shape (n, n).

    Example:
        >>> import torch
        >>> from casper.spectral import soft_neighbors
        >>> rounds = soft_neighbors(torch.zeros(4, 4).fill_diagonal_(-torch.inf), 2)
        >>> len(rounds), torch.allclose(sum(rounds).sum(dim=1), torch.tensor(2.0))
        (2, True)
    """
    rounds = []
    for _ in range(num_rounds):
        weight = logits.softmax(dim=1)
        logits = (1 - weight).log_().add_(logits)  # -inf where w = 1: excluded from the next rounds
        rounds.append(weight)
    return rounds


def soft_neighbors_backward(rounds: list[Tensor], grad_total: Tensor) -> Tensor:
    """Pull a gradient with respect to W back to the logits, running the rounds of `soft_neighbors` in reverse.

    log w⁽ʳ⁾ reaches the loss through w⁽ʳ⁾ itself and through log(1 - w⁽ʳ⁾) in the logits of the next round.

    Args:
        rounds: The tensors w⁽ʳ⁾ of shape (n, n).
        grad_total: Tensor of shape (n, n).

    Returns:
        Tensor of shape (n, n); zero if there were no rounds.

    Example:
        >>> import torch
        >>> from casper.spectral import soft_neighbors, soft_neighbors_backward
        >>> rounds = soft_neighbors(torch.zeros(4, 4).fill_diagonal_(-torch.inf), 2)
        >>> gradient = soft_neighbors_backward(rounds, torch.ones(4, 4))  # of the sum of W, which is constant
        >>> torch.allclose(gradient, torch.zeros(4, 4), atol=1e-5)
        True
    """
    grad_logits = torch.zeros_like(grad_total)
    for weight in reversed(rounds):
        grad_log_weight = torch.addcdiv(grad_total, grad_logits, 1 + _GUARD - weight, value=-1).mul_(weight)
        grad_logits.add_(grad_log_weight)
        grad_logits.addcmul_(weight, grad_log_weight.sum(dim=1, keepdim=True), value=-1)
    return grad_logits
