"""How much a latent space was distorted between two networks, or two moments of one."""

import warnings

import torch
from torch import Tensor

from casper.analysis.spectrum import Spectrum, spectrum
from casper.errors import ParameterError, require
from casper.spectral import check_features


def functional_map(features_a: Tensor, features_b: Tensor, rank: int = 25, num_neighbors: int = 10) -> Tensor:
    """Express the low eigenfunctions of one latent geometry graph in those of another of the same items.

    C = Φ_aᵀ Φ_b, c_ij = <φ_i^a, φ_j^b>: the identity, up to signs, where nothing was distorted. "Latent Spectral
    Regularization for Continual Learning", Section 4.5, after Ovsjanikov et al. (2012).

    A graph in several parts has a repeated eigenvalue, whose eigenvectors may be turned into each other: C then shows
    more than distortion, and a warning says so. The number of neighbours is never changed; give a larger one, the same
    to all that are compared.

    Args:
        features_a: Tensor of shape (n, d_a), finite.
        features_b: Tensor of shape (n, d_b): of the same items, in the same order.
        rank: How many eigenfunctions, in 1..n. Default: the paper's.
        num_neighbors: The number of neighbours of each point, in 1..n-1. The paper names none; default: the released
            code's.

    Returns:
        Tensor of shape (rank, rank), float64.
    """
    check_features(features_a, "features_a")
    check_features(features_b, "features_b")
    if len(features_a) != len(features_b):
        raise ParameterError("features_b", f"of the same {len(features_a)} items", f"{len(features_b)} rows")
    require(1 <= rank <= len(features_a), "rank", f"in 1..{len(features_a)}, at most one for each item", rank)
    a, b = (spectrum(features, rank, num_neighbors) for features in (features_a, features_b))
    if warning := parts_warning(a, b):
        warnings.warn(warning, stacklevel=2)
    return map_between(a, b)


def map_between(a: Spectrum, b: Spectrum) -> Tensor:
    """Compute `functional_map` from two spectra of the same items."""
    return a.eigenvectors.T @ b.eigenvectors


def parts_warning(a: Spectrum, b: Spectrum) -> str:
    """Say that graphs are in several parts; empty: both are connected."""
    parts = (a.num_components, b.num_components)
    if max(parts) == 1:
        return ""
    return (
        f"functional map: the graphs have {parts[0]} and {parts[1]} connected components, so that eigenvectors of the "
        "eigenvalue 0 may be turned into each other, and with as many components as rows the map says nothing; more "
        "neighbours would join them"
    )


def off_diagonal_energy(matrix: Tensor) -> float:
    """Compute OD_E = Σ_{i≠j} |c_ij| / ||C||_F: 0 for a diagonal matrix, at most sqrt(r (r - 1)) for r x r.

    "Latent Spectral Regularization for Continual Learning", Section 4.5; ||C||_F is the Frobenius norm.

    Args:
        matrix: Tensor of shape (r, r), not all zero.
    """
    norm = _norm(matrix)
    magnitudes = matrix.double().abs()
    return float((magnitudes.sum() - magnitudes.diagonal().sum()) / norm)


def off_diagonal_share(matrix: Tensor) -> float:
    """Compute 1 - Σ_i c_ii² / ||C||_F², the part of the squared entries off the diagonal, in [0, 1]."""
    norm = _norm(matrix)
    return float(1 - (matrix.double().diagonal() / norm).square().sum())


def _norm(matrix: Tensor) -> Tensor:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ParameterError("matrix", "square", f"shape {tuple(matrix.shape)}")
    norm: Tensor = torch.linalg.matrix_norm(matrix.double())
    if not 0 < norm < torch.inf:
        raise ParameterError("matrix", "finite and not all zero", f"a Frobenius norm of {norm.item()}")
    return norm
