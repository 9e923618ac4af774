"""Degrees and the normalised Laplacian of a graph."""

import torch
from torch import Tensor


def degrees(adjacency: Tensor) -> Tensor:
    """Sum the edges at each node: deg_i = Σ_j A_ij.

    Args:
        adjacency: Tensor of shape (n, n).

    Returns:
        Tensor of shape (n,).
    """
    return adjacency.sum(dim=1)


def normalized_laplacian(adjacency: Tensor) -> Tensor:
    """Compute L = I - deg^{-1/2} A deg^{-1/2}, whose spectrum lies in [0, 2].

    The number of zero eigenvalues equals the number of connected components of the graph.

    Args:
        adjacency: Symmetric tensor of shape (n, n) in which every node has at least one edge.

    Returns:
        Tensor of shape (n, n), symmetric to the last bit.
    """
    scale = degrees(adjacency).rsqrt()
    identity = torch.eye(len(adjacency), dtype=adjacency.dtype, device=adjacency.device)
    return identity - adjacency * (scale[:, None] * scale[None, :])


def normalized_laplacian_backward(adjacency: Tensor, grad_laplacian: Tensor) -> Tensor:
    """Pull a symmetric gradient S with respect to L back to A, including its effect through the degrees.

    With B = deg^{-1/2} A deg^{-1/2}:  ∂/∂A_ij = -S_ij (deg_i deg_j)^{-1/2} + Σ_m S_im B_im / deg_i.

    Args:
        adjacency: Symmetric tensor A of shape (n, n).
        grad_laplacian: Symmetric tensor S of shape (n, n).

    Returns:
        Tensor of shape (n, n).
    """
    inverse_degree = degrees(adjacency).reciprocal()
    scale = inverse_degree.sqrt()
    scaled = grad_laplacian * (scale[:, None] * scale[None, :])
    through_degree = (scaled * adjacency).sum(dim=1) * inverse_degree  # shape: (n,)
    return through_degree[:, None] - scaled
