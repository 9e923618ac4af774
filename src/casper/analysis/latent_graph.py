"""The latent geometry graph of any number of points, as a sparse matrix."""

from typing import Any

import numpy as np
from torch import Tensor

from casper.analysis.neighbors import nearest_others


def latent_graph(features: Tensor, num_neighbors: int) -> Any:
    """Build the symmetric k-NN graph: an edge wherever either end chose the other.

    The graph of `casper.spectral.knn_graph`, whose size is n k instead of n².

    Args:
        features: Tensor of shape (n, d), finite.
        num_neighbors: The number of neighbours k each point chooses, in 1..n-1.

    Returns:
        `scipy.sparse.csr_array` of shape (n, n): binary, symmetric, float64, with an empty diagonal.
    """
    from scipy.sparse import csr_array

    chosen = nearest_others(features, num_neighbors).cpu().numpy()
    starts = np.arange(len(chosen) + 1) * num_neighbors
    directed = csr_array((np.ones(chosen.size), chosen.ravel(), starts), shape=(len(chosen),) * 2)
    return directed.maximum(directed.T).tocsr()
