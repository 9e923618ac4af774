"""The latent geometry graph as a sparse matrix, from exact nearest neighbours."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from casper.errors import ParameterError, require
from casper.spectral import check_features, to_unit_scale

# The number of distances in memory at once: 128 MiB.
_DISTANCES = 2**24


def nearest_others(features: Tensor, num_neighbors: int) -> Tensor:
    """Find for each point its nearest other points by Euclidean distance.

    All n² distances are computed in float64, one block of rows at a time, without the n x n matrix in memory.

    Args:
        features: Tensor of shape (n, d), finite.
        num_neighbors: The number k of neighbours, in [1, n - 1].

    Returns:
        Integer tensor of shape (n, k), in no particular order within a row.

    Raises:
        ParameterError: For invalid features or an invalid number of neighbours.

    Example:
        >>> import torch
        >>> from casper.analysis import nearest_others
        >>> points = torch.tensor([[0.0], [1.0], [3.0], [4.0]])
        >>> nearest_others(points, 1).tolist()
        [[1], [0], [3], [2]]
    """
    check_features(features)
    num_points = len(features)
    require(num_points >= 2, "features", "a matrix of at least two rows", tuple(features.shape))
    requirement = f"in [1, {num_points - 1}], fewer than the {num_points} points"
    require(1 <= num_neighbors < num_points, "num_neighbors", requirement, num_neighbors)
    points, _ = to_unit_scale(features.detach().double())
    halves = points.square().sum(dim=1) / 2
    rows = torch.arange(num_points, device=points.device)
    nearest = []
    for block in rows.split(max(1, _DISTANCES // num_points)):
        # ||x - y||² = 2 (||x||²/2 + ||y||²/2 - x·y); within a row ||x||² and the factor change no order
        nearness = torch.addmm(halves, points[block], points.T, beta=-1)
        nearness[block - block[0], block] = -torch.inf
        nearest.append(nearness.topk(num_neighbors, dim=1, sorted=False).indices)
    return torch.cat(nearest)


def check_labels(labels: Tensor, features: Tensor, name: str = "features") -> None:
    """Raise `ParameterError` unless the features are valid and there is one label for each row."""
    check_features(features, name)
    if not isinstance(labels, Tensor):
        raise ParameterError("labels", "a tensor", type(labels).__name__)
    if unknown := int(labels.isnan().sum()):
        raise ParameterError("labels", "numbers", f"{unknown} NaN")
    if labels.shape != features.shape[:1]:
        raise ParameterError("labels", f"one for each of {len(features)} points", f"shape {tuple(labels.shape)}")


def latent_graph(features: Tensor, num_neighbors: int) -> Any:
    """Build the symmetric k-NN graph: two points are connected if either is a neighbour of the other.

    It is the graph of `casper.spectral.knn_graph`, stored in n k entries instead of n².

    Args:
        features: Tensor of shape (n, d), finite.
        num_neighbors: The number k of neighbours of each point, in [1, n - 1].

    Returns:
        `scipy.sparse.csr_array` of shape (n, n): binary, symmetric, float64, with an empty diagonal.

    Example:
        >>> import torch
        >>> from casper.analysis import latent_graph
        >>> points = torch.tensor([[0.0], [1.0], [3.0], [4.0]])
        >>> latent_graph(points, 1).toarray().astype(int).tolist()
        [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    """
    from scipy.sparse import csr_array

    chosen = nearest_others(features, num_neighbors).cpu().numpy()
    starts = np.arange(len(chosen) + 1) * num_neighbors
    directed = csr_array((np.ones(chosen.size), chosen.ravel(), starts), shape=(len(chosen),) * 2)
    return directed.maximum(directed.T).tocsr()
