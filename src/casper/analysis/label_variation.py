"""Label-signal variation: how entangled the classes are in the latent geometry graph."""

from typing import Any

import torch
from torch import Tensor

from casper.analysis.graph import check_labels, latent_graph

# The numbers of neighbours with which the authors of CaSpeR computed the variation, by the size of the memory.
_NEIGHBORS = {500: 5, 2000: 4}


def sigma_neighbors(buffer_size: int) -> int:
    """Return the number of neighbours with which the authors of CaSpeR computed the label-signal variation.

    The paper does not state it; their development code has 5 for a memory of 500 items and 4 for one of 2000. For other
    sizes the nearer of the two applies.

    Example:
        >>> from casper.analysis import sigma_neighbors
        >>> sigma_neighbors(200), sigma_neighbors(5120)
        (5, 4)
    """
    return _NEIGHBORS[min(_NEIGHBORS, key=lambda size: abs(size - buffer_size))]


def label_signal_variation(features: Tensor, labels: Tensor, num_neighbors: int = 10) -> float:
    """Count the edges of the latent geometry graph between different classes, each edge twice.

    σ = Σ_{i,j} 1[y_i ≠ y_j] A_ij; "Latent Spectral Regularization for Continual Learning", Section 3.2, after Lassance
    et al., "Representing Deep Neural Networks Latent Space Geometries with Graphs" (Algorithms, 2021). A lower
    value means less entangled classes. It grows with the number of points and of neighbours: use
    `label_signal_variation_share` to compare sets of different sizes. See `least_label_signal_variation` for a bound.

    Args:
        features: Tensor of shape (n, d), finite.
        labels: Tensor of shape (n,).
        num_neighbors: The number k of neighbours of each point, in [1, n - 1]. Default: that of the released loss. The
            paper gives none; `sigma_neighbors` is what its authors used.

    Example:
        >>> import torch
        >>> from casper.analysis import label_signal_variation
        >>> points = torch.tensor([[0.0], [1.0], [3.0], [4.0]])
        >>> label_signal_variation(points, torch.tensor([0, 0, 1, 1]), num_neighbors=1)
        0.0
        >>> label_signal_variation(points, torch.tensor([0, 1, 0, 1]), num_neighbors=1)
        4.0
    """
    return crossing_edges(_graph(features, labels, num_neighbors), labels)[0]


def label_signal_variation_share(features: Tensor, labels: Tensor, num_neighbors: int = 10) -> float:
    """Compute σ / Σ_{i,j} A_ij, the share of edges between different classes, in [0, 1].

    Arguments as for `label_signal_variation`.

    Example:
        >>> import torch
        >>> from casper.analysis import label_signal_variation_share
        >>> points = torch.tensor([[0.0], [1.0], [3.0], [4.0]])
        >>> label_signal_variation_share(points, torch.tensor([0, 0, 1, 1]), num_neighbors=2)
        0.6
    """
    crossing, edges = crossing_edges(_graph(features, labels, num_neighbors), labels)
    return crossing / edges


def least_label_signal_variation(labels: Tensor, num_neighbors: int = 10) -> float:
    """Compute a lower bound of σ: a point of a class of s <= k points has neighbours of other classes.

    σ >= Σ_i max(0, k - (s_i - 1)), where s_i is the size of the class of point i: an edge is chosen by at most two
    ends, and counts twice. In a memory of fixed size it grows with the number of classes, for any features.

    Args:
        labels: Tensor of shape (n,).
        num_neighbors: The number k of neighbours of each point.

    Example:
        >>> import torch
        >>> from casper.analysis import least_label_signal_variation
        >>> least_label_signal_variation(torch.tensor([0, 0, 1, 1]), num_neighbors=2)
        4.0
    """
    sizes = labels.unique(return_counts=True)[1]
    return float((sizes * (num_neighbors + 1 - sizes).clamp(min=0)).sum())


def crossing_edges(graph: Any, labels: Tensor) -> tuple[float, float]:
    """Count the edges of a `latent_graph` between classes (σ) and all edges, each edge twice."""
    rows, columns = (torch.from_numpy(ends).long() for ends in graph.tocoo().coords)
    classes = labels.detach().cpu()
    return float((classes[rows] != classes[columns]).sum()), float(len(rows))


def _graph(features: Tensor, labels: Tensor, num_neighbors: int) -> Any:
    check_labels(labels, features)
    return latent_graph(features, num_neighbors)
