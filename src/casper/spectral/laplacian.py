"""Degrees and the normalised Laplacian of a graph."""

import torch
from torch import Tensor


def degrees(adjacency: Tensor) -> Tensor:
    """Sum the edges at each node: deg_i = Σ_j A_ij.

    Args:
        adjacency: Tensor of shape (n, n).

    Returns:
        Tensor of shape (n,).

    Example:
        >>> import torch
        >>> from casper.spectral import degrees
        >>> degrees(torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
        tensor([1., 2., 1.])
    """
    return adjacency.sum(dim=1)


def normalized_laplacian(adjacency: Tensor) -> Tensor:
    """Compute L = I - deg^{-1/2} A deg^{-1/2}, whose spectrum lies in [0, 2].

    The number of zero eigenvalues equals the number of connected components of the graph.

    Args:
        adjacency: Symmetric tensor of shape (n, n) in which every node has at least one edge.

    Returns:
        Tensor of shape (n, n), symmetric to the last bit.

    Example:
        >>> import torch
        >>> from casper.spectral import normalized_laplacian
        >>> normalized_laplacian(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
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

    Example:
        >>> import torch
        >>> from casper.spectral import normalized_laplacian, normalized_laplacian_backward
        >>> adjacency = torch.tensor([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]], requires_grad=True)
        >>> normalized_laplacian(adjacency).square().sum().backward()
        >>> gradient = normalized_laplacian_backward(adjacency.detach(), 2 * normalized_laplacian(adjacency.detach()))
        >>> torch.allclose(gradient, adjacency.grad, atol=1e-5)
        True
    """
    inverse_degree = degrees(adjacency).reciprocal()
    scale = inverse_degree.sqrt()
    scaled = grad_laplacian * (scale[:, None] * scale[None, :])
    through_degree = (scaled * adjacency).sum(dim=1) * inverse_degree  # shape: (n,)
    return through_degree[:, None] - scaled
