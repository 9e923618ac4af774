"""Functional maps: how much a latent space is distorted between two networks, or two moments of one network."""

import warnings

import torch
from torch import Tensor

from casper.analysis.spectrum import Spectrum, spectrum
from casper.errors import ParameterError, require
from casper.spectral import check_features


def functional_map(features_a: Tensor, features_b: Tensor, rank: int = 25, num_neighbors: int = 10) -> Tensor:
    """Express the low eigenfunctions of one latent geometry graph in those of another of the same items.

    C = Φ_aᵀ Φ_b, c_ij = <φ_i^a, φ_j^b>: the identity, up to signs, if there is no distortion. "Latent Spectral
    Regularization for Continual Learning", Section 4.5, after Ovsjanikov et al. (2012).

    A graph with several connected components has a repeated eigenvalue, whose eigenvectors are not unique: C then
    contains more than distortion, and a warning is issued. The function never changes the number of neighbours; use a
    larger one, and the same for all maps that are compared.

    Args:
        features_a: Tensor of shape (n, d_a), finite.
        features_b: Tensor of shape (n, d_b): of the same items, in the same order.
        rank: The number of eigenfunctions, in [1, n]. Default: the paper's.
        num_neighbors: The number of neighbours of each point, in [1, n - 1]. Default: that of the released code, as the
            paper gives none.

    Returns:
        Tensor of shape (rank, rank), float64.

    Example:
        >>> import torch
        >>> from casper.analysis import functional_map, off_diagonal_energy
        >>> features = torch.randn(60, 8, generator=torch.Generator().manual_seed(0))
        >>> scaled = functional_map(features, 10 * features, rank=5)
        >>> round(off_diagonal_energy(scaled), 6)
        0.0
    """
    check_features(features_a, "features_a")
    check_features(features_b, "features_b")
    if len(features_a) != len(features_b):
        raise ParameterError("features_b", f"of the same {len(features_a)} items", f"{len(features_b)} rows")
    require(1 <= rank <= len(features_a), "rank", f"in [1, {len(features_a)}], at most one for each item", rank)
    a, b = (spectrum(features, rank, num_neighbors) for features in (features_a, features_b))
    if warning := parts_warning(a, b):
        warnings.warn(warning, stacklevel=2)
    return map_between(a, b)


def map_between(a: Spectrum, b: Spectrum) -> Tensor:
    """Compute `functional_map` from two spectra of the same items.

    Example:
        >>> import torch
        >>> from casper.analysis import map_between, spectrum
        >>> found = spectrum(torch.randn(20, 4, generator=torch.Generator().manual_seed(0)), count=3)
        >>> map_between(found, found).diagonal()
        tensor([1.0000, 1.0000, 1.0000], dtype=torch.float64)
    """
    return a.eigenvectors.T @ b.eigenvectors


def parts_warning(a: Spectrum, b: Spectrum) -> str:
    """Return a warning if one of the graphs is not connected; else an empty string.

    Example:
        >>> import torch
        >>> from casper.analysis import parts_warning, spectrum
        >>> points = torch.tensor([[0.0], [1.0], [3.0], [4.0]])
        >>> connected, in_two_parts = spectrum(points, 2, num_neighbors=2), spectrum(points, 2, num_neighbors=1)
        >>> parts_warning(connected, connected)
        ''
        >>> parts_warning(connected, in_two_parts)[:60]
        'functional map: the graphs have 1 and 2 connected components'
    """
    parts = (a.num_components, b.num_components)
    if max(parts) == 1:
        return ""
    return (
        f"functional map: the graphs have {parts[0]} and {parts[1]} connected components, so that eigenvectors of the "
        "eigenvalue 0 are not unique, and with as many components as rows the map has no meaning; increase the number "
        "of neighbours to connect them"
    )


def off_diagonal_energy(matrix: Tensor) -> float:
    """Compute OD_E = Σ_{i≠j} |c_ij| / ||C||_F: 0 for a diagonal matrix, at most sqrt(r (r - 1)) for r x r.

    "Latent Spectral Regularization for Continual Learning", Section 4.5; ||C||_F is the Frobenius norm.

    Args:
        matrix: Tensor of shape (r, r), not all zero.

    Example:
        >>> import torch
        >>> from casper.analysis import off_diagonal_energy
        >>> round(off_diagonal_energy(torch.tensor([[3.0, 4.0], [0.0, 0.0]])), 6)
        0.8
    """
    norm = _norm(matrix)
    magnitudes = matrix.double().abs()
    return float((magnitudes.sum() - magnitudes.diagonal().sum()) / norm)


def off_diagonal_share(matrix: Tensor) -> float:
    """Compute 1 - Σ_i c_ii² / ||C||_F², the share of the squared entries off the diagonal, in [0, 1].

    Example:
        >>> import torch
        >>> from casper.analysis import off_diagonal_share
        >>> round(off_diagonal_share(torch.tensor([[3.0, 4.0], [0.0, 0.0]])), 6)
        0.64
    """
    norm = _norm(matrix)
    return float(1 - (matrix.double().diagonal() / norm).square().sum())


def _norm(matrix: Tensor) -> Tensor:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ParameterError("matrix", "square", f"shape {tuple(matrix.shape)}")
    norm: Tensor = torch.linalg.matrix_norm(matrix.double())
    if not 0 < norm < torch.inf:
        raise ParameterError("matrix", "finite and not all zero", f"a Frobenius norm of {norm.item()}")
    return norm
