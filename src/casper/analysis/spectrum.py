"""The spectrum of a latent space: the lowest eigenpairs of the normalised Laplacian of its graph."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from casper.analysis.graph import latent_graph
from casper.errors import ParameterError, require
from casper.spectral import check_features, normalized_laplacian, smallest_eigenpairs

# Components of up to this many nodes use a dense solver, which is faster there and always converges.
_DENSE = 600
# The tolerance for a repeated eigenvalue; the iteration converges below 1e-14.
_TOLERANCE = 1e-9


def lowest_eigenpairs(graph: Any, count: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Compute the lowest eigenvalues of L = I - deg^{-1/2} A deg^{-1/2} and their eigenvectors.

    The cost grows with the number of edges, not with the number of pairs of nodes.

    Args:
        graph: Adjacency A, a `scipy.sparse.csr_array` of shape (n, n), symmetric; every node has an edge.
        count: The number of pairs, in [1, n].

    Returns:
        Eigenvalues of shape (count,), ascending; orthonormal eigenvectors of shape (n, count), each with its largest
        entry positive; the number of connected components. The eigenvalue 0 occurs once for each component, with a
        vector supported on that component, the largest component first.

    Raises:
        ParameterError: For an invalid graph or count.

    Example:
        >>> import torch
        >>> from casper.analysis import latent_graph, lowest_eigenpairs
        >>> points = torch.tensor([[0.0], [1.0], [3.0], [4.0]])
        >>> values, vectors, num_components = lowest_eigenpairs(latent_graph(points, 1), 2)
        >>> values.tolist(), vectors.shape, num_components
        ([0.0, 0.0], (4, 2), 2)
    """
    from scipy.sparse.csgraph import connected_components

    _check(graph, count)
    num_components, component = connected_components(graph, directed=False)
    members = np.split(np.argsort(component, kind="stable"), np.cumsum(np.bincount(component))[:-1])
    members.sort(key=len, reverse=True)
    further = max(0, count - num_components)
    found: list[tuple[float, np.ndarray, np.ndarray]] = []
    for nodes in members:
        part = graph[nodes][:, nodes] if num_components > 1 else graph
        values, vectors = _connected(part, 1 + min(further, len(nodes) - 1))
        found += [(value, nodes, vector) for value, vector in zip(values, vectors.T, strict=True)]
    found.sort(key=lambda pair: pair[0])
    eigenvectors = np.zeros((graph.shape[0], count))
    for place, (_, nodes, vector) in enumerate(found[:count]):
        eigenvectors[nodes, place] = vector * np.sign(vector[np.abs(vector).argmax()])
    return np.array([value for value, _, _ in found[:count]]), eigenvectors, num_components


def _check(graph: Any, count: int) -> None:
    from scipy.sparse import csr_array

    if not isinstance(graph, csr_array) or graph.shape[0] != graph.shape[1] or graph.shape[0] == 0:
        found = f"{type(graph).__name__} of shape {getattr(graph, 'shape', None)}"
        raise ParameterError("graph", "a scipy.sparse.csr_array, square and not empty", found)
    if not np.isfinite(graph.data).all() or (graph.data < 0).any():
        raise ParameterError("graph", "a matrix of finite, non-negative weights", "a negative or non-finite weight")
    if (graph != graph.T).nnz:
        raise ParameterError("graph", "symmetric", "an edge with different weights in its two directions")
    if alone := int((graph.sum(axis=1) == 0).sum()):
        raise ParameterError("graph", "a graph in which every node has an edge", f"{alone} isolated nodes")
    require(1 <= count <= graph.shape[0], "count", f"in [1, {graph.shape[0]}], at most one for each node", count)


def _connected(graph: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute the lowest eigenpairs of a connected graph, the first of which is (0, deg^{1/2})."""
    degrees = graph.sum(axis=1)
    first = np.sqrt(degrees / degrees.sum())[:, None]
    if count == 1:
        return np.zeros(1), first
    if len(degrees) <= _DENSE or 3 * count > len(degrees):
        laplacian = normalized_laplacian(torch.from_numpy(graph.toarray()))
        values, vectors = (pair.numpy() for pair in smallest_eigenpairs(laplacian, count))
        return np.concatenate([[0.0], values[1:]]), np.concatenate([first, vectors[:, 1:]], axis=1)
    values, vectors = _iterate(graph, degrees, first, count - 1)
    return np.concatenate([[0.0], values]), np.concatenate([first, vectors], axis=1)


def _iterate(graph: Any, degrees: np.ndarray, first: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the lowest eigenpairs except the first, as the largest of 2 I - L, where the iteration converges well."""
    from scipy.sparse import diags_array, eye_array
    from scipy.sparse.linalg import LinearOperator, eigsh

    scale = diags_array(1 / np.sqrt(degrees))
    shifted = (eye_array(len(degrees)) + scale @ graph @ scale).tocsr()
    random = np.random.default_rng(0)

    def largest(without: np.ndarray, values: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Find the largest pairs after deflation of the known ones, whose eigenvalues become 0, the smallest."""
        weighted = without * values
        operator = LinearOperator(shifted.shape, lambda x: shifted @ x - weighted @ (without.T @ x), dtype=np.float64)
        start = random.standard_normal(len(degrees))  # a new one: the last one was orthogonal to what it missed
        large, vectors = eigsh(operator, number, which="LA", v0=start, ncv=min(len(degrees), 2 * number + 20))
        return large[::-1], vectors[:, ::-1]

    out, out_values = first, np.array([2.0])
    large, vectors = largest(out, out_values, count)
    while True:
        out, out_values = np.concatenate([first, vectors], axis=1), np.concatenate([[2.0], large])
        missed, another = largest(out, out_values, 1)
        if missed[0] <= large[-1] + _TOLERANCE:
            return 2 - large[:count], vectors[:, :count]
        # A missed eigenvector, of a repeated value or of one between those found: insert it in order.
        large, vectors = np.append(large, missed), np.concatenate([vectors, another], axis=1)
        order = np.argsort(-large, kind="stable")[:count]
        large, vectors = large[order], vectors[:, order]


@dataclass(frozen=True)
class Spectrum:
    """The low end of a spectrum 0 = λ_1 <= λ_2 <= ... of the normalised Laplacian.

    Attributes:
        eigenvalues: Tensor of shape (count,), float64, in [0, 2].
        eigenvectors: Tensor of shape (n, count), float64, orthonormal columns.
        num_components: The number of connected components of the graph, which is the multiplicity of the eigenvalue 0.
            Eigenvectors of a repeated eigenvalue are one of many bases: compare single eigenvectors only if the graph
            is connected.

    Example:
        >>> import torch
        >>> from casper.analysis import spectrum
        >>> found = spectrum(torch.tensor([[0.0], [1.0], [3.0], [4.0]]), count=3, num_neighbors=1)
        >>> found.num_components, round(found.gap(2), 6), found.widest_gap_at
        (2, 2.0, 2)
    """

    eigenvalues: Tensor
    eigenvectors: Tensor
    num_components: int

    def gap(self, place: int) -> float:
        """Compute λ_{p+1} - λ_p for p = `place`, counted from 1: how clearly the points form p groups."""
        require(1 <= place < len(self.eigenvalues), "place", f"in [1, {len(self.eigenvalues) - 1}]", place)
        return float(self.eigenvalues[place] - self.eigenvalues[place - 1])

    @property
    def widest_gap_at(self) -> int:
        """The p with the widest gap λ_{p+1} - λ_p, which is the number of groups that the points form most clearly."""
        require(len(self.eigenvalues) > 1, "count", "at least 2, for a gap", len(self.eigenvalues))
        return int(self.eigenvalues.diff().argmax()) + 1


def spectrum(features: Tensor, count: int = 25, num_neighbors: int = 10) -> Spectrum:
    """Compute the lowest eigenpairs of the latent geometry graph.

    Args:
        features: Tensor of shape (n, d), finite.
        count: The number of pairs, in [1, n]. Default: the rank of the paper's functional maps.
        num_neighbors: The number k of neighbours of each point, in [1, n - 1]. Default: that of the released code.

    Raises:
        ParameterError: For invalid features, count or number of neighbours.

    Example:
        >>> import torch
        >>> from casper.analysis import spectrum
        >>> spectrum(torch.tensor([[0.0], [1.0], [3.0], [4.0]]), count=3, num_neighbors=1).eigenvalues
        tensor([0., 0., 2.], dtype=torch.float64)
    """
    check_features(features)
    require(1 <= count <= len(features), "count", f"in [1, {len(features)}], at most one for each point", count)
    return graph_spectrum(latent_graph(features, num_neighbors), count)


def graph_spectrum(graph: Any, count: int) -> Spectrum:
    """Compute `spectrum` from an existing `latent_graph`."""
    values, vectors, num_components = lowest_eigenpairs(graph, count)
    return Spectrum(torch.from_numpy(values).clamp(min=0), torch.from_numpy(vectors), num_components)
