"""The spectrum of a latent space: the lowest eigenpairs of its graph's Laplacian."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from casper.analysis.eigenpairs import lowest_eigenpairs
from casper.analysis.latent_graph import latent_graph
from casper.errors import require
from casper.spectral import check_features


@dataclass(frozen=True)
class Spectrum:
    """The low end of a spectrum 0 = λ_1 <= λ_2 <= ... of the normalised Laplacian.

    Attributes:
        eigenvalues: Tensor of shape (count,), float64, in [0, 2].
        eigenvectors: Tensor of shape (n, count), float64, orthonormal columns.
        num_components: How many parts the graph falls into, and how often the eigenvalue 0 comes. Eigenvectors of a
            repeated eigenvalue are one basis of many: compare single ones only where the graph is connected.
    """

    eigenvalues: Tensor
    eigenvectors: Tensor
    num_components: int

    def gap(self, place: int) -> float:
        """Compute λ_{p+1} - λ_p for p = `place`, counted from 1: how clearly the points fall into p groups."""
        require(1 <= place < len(self.eigenvalues), "place", f"in 1..{len(self.eigenvalues) - 1}", place)
        return float(self.eigenvalues[place] - self.eigenvalues[place - 1])

    @property
    def widest_gap_at(self) -> int:
        """The p of the widest gap λ_{p+1} - λ_p: the number of groups that the points fall into most clearly."""
        require(len(self.eigenvalues) > 1, "count", "at least 2, for a gap", len(self.eigenvalues))
        return int(self.eigenvalues.diff().argmax()) + 1


def spectrum(features: Tensor, count: int = 25, num_neighbors: int = 10) -> Spectrum:
    """Compute the lowest eigenpairs of the latent geometry graph.

    Args:
        features: Tensor of shape (n, d), finite.
        count: How many pairs, in 1..n. Default: as many as the paper's functional maps have rows.
        num_neighbors: The number of neighbours k each point chooses, in 1..n-1. Default: the released code's.

    Raises:
        ParameterError: For features or a number that cannot be used.
    """
    check_features(features)
    require(1 <= count <= len(features), "count", f"in 1..{len(features)}, at most one for each point", count)
    return graph_spectrum(latent_graph(features, num_neighbors), count)


def graph_spectrum(graph: Any, count: int) -> Spectrum:
    """Compute `spectrum` from a `latent_graph` that is there already."""
    values, vectors, num_components = lowest_eigenpairs(graph, count)
    return Spectrum(torch.from_numpy(values).clamp(min=0), torch.from_numpy(vectors), num_components)
