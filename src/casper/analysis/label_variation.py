"""How entangled classes are in the latent geometry graph."""

from typing import Any

import torch
from torch import Tensor

from casper.analysis.graph import check_labels, latent_graph


def label_signal_variation(features: Tensor, labels: Tensor, num_neighbors: int = 10) -> float:
    """Count the edges of the latent geometry graph between points of different classes, each from both of its ends.

    σ = Σ_{i,j} 1[y_i ≠ y_j] A_ij; "Latent Spectral Regularization for Continual Learning", Section 3.2, after Lassance
    et al., "Representing Deep Neural Networks Latent Space Geometries with Graphs" (Algorithms, 2021). The lower, the
    less entangled. It grows with the number of points and of neighbours: compare sets of different sizes on
    `label_signal_variation_share`. Part of it may be forced (`least_label_signal_variation`).

    Args:
        features: Tensor of shape (n, d), finite.
        labels: Tensor of shape (n,).
        num_neighbors: The number of neighbours k each point chooses, in 1..n-1. The paper names none; default: the
            released code's.
    """
    return crossing_edges(_graph(features, labels, num_neighbors), labels)[0]


def label_signal_variation_share(features: Tensor, labels: Tensor, num_neighbors: int = 10) -> float:
    """Compute σ / Σ_{i,j} A_ij, the part of all edges that join different classes, in [0, 1]; arguments as for σ."""
    crossing, edges = crossing_edges(_graph(features, labels, num_neighbors), labels)
    return crossing / edges


def least_label_signal_variation(labels: Tensor, num_neighbors: int = 10) -> float:
    """Compute how low σ can be at all: of a class of s points, each must choose strangers if it chooses k >= s.

    σ >= Σ_i max(0, k - (s_i - 1)), where s_i is the size of i's class: an edge is chosen by two ends at most, and
    counts twice. In a memory of fixed size it grows with the number of classes, whatever the features are.

    Args:
        labels: Tensor of shape (n,).
        num_neighbors: The number of neighbours k each point chooses.
    """
    sizes = labels.unique(return_counts=True)[1]
    return float((sizes * (num_neighbors + 1 - sizes).clamp(min=0)).sum())


def crossing_edges(graph: Any, labels: Tensor) -> tuple[float, float]:
    """Count the edges of a `latent_graph` between classes, which is σ, and all of them, each from both ends."""
    rows, columns = (torch.from_numpy(ends).long() for ends in graph.tocoo().coords)
    own = labels.detach().cpu()
    return float((own[rows] != own[columns]).sum()), float(len(rows))


def _graph(features: Tensor, labels: Tensor, num_neighbors: int) -> Any:
    check_labels(labels, features)
    return latent_graph(features, num_neighbors)
