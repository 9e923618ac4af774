"""The smallest eigenvalues of a symmetric matrix."""

from functools import cache
from typing import Any

import torch
from torch import Tensor

# From this size on, LAPACK's subset driver is faster than the full decomposition if at most a third of the pairs is
# requested (measured: equal at 128, twice as fast at 256 with 17 pairs, 2.5 times at 1,024).
_SUBSET_FROM = 200


def smallest_eigenpairs(matrix: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Compute the `count` smallest eigenvalues of a symmetric matrix, in ascending order, and their eigenvectors.

    A large matrix on the CPU is passed to LAPACK's subset driver if SciPy and threadpoolctl are installed; otherwise
    `torch.linalg.eigh` computes the full decomposition.

    The gradient of an eigenvalue is ∂λ_i/∂M = v_i v_iᵀ. No eigenvector is differentiated, so repeated eigenvalues are
    harmless: summed over a whole group of repeated eigenvalues, the gradient is the projector on its eigenspace. If a
    sum includes only part of a group, the gradient is one of several sub-gradients: finite, but dependent on the basis
    that LAPACK returns.

    Args:
        matrix: Symmetric tensor of shape (n, n), finite.
        count: The number of pairs, at most n.

    Returns:
        Eigenvalues of shape (count,) and eigenvectors of shape (n, count). Neither carries gradient.

    Example:
        >>> import torch
        >>> from casper.spectral import smallest_eigenpairs
        >>> values, vectors = smallest_eigenpairs(torch.diag(torch.tensor([3.0, 1.0, 2.0])), 2)
        >>> torch.allclose(values, torch.tensor([1.0, 2.0])), vectors.shape
        (True, torch.Size([3, 2]))
    """
    matrix = matrix.detach()
    if matrix.device.type == "cpu" and len(matrix) >= _SUBSET_FROM and 3 * count <= len(matrix) and _lapack():
        eigh, error, threads = _lapack()
        try:
            with threads.limit(limits=1):
                values, vectors = eigh(matrix.numpy(), subset_by_index=(0, count - 1), check_finite=False)
            return torch.from_numpy(values), torch.from_numpy(vectors)
        except error:
            pass  # it may fail on tightly clustered spectra; the full decomposition does not
    values, vectors = torch.linalg.eigh(matrix)
    return values[:count], vectors[:, :count]


@cache
def _lapack() -> Any:
    """Return the subset driver, the error it raises and its thread pool; None if SciPy is not installed.

    Without a limit, SciPy's threads compete with PyTorch's and become ten times slower. The imports happen at first
    use, so that importing the loss imports only PyTorch.
    """
    try:
        from scipy.linalg import LinAlgError, eigh
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return eigh, LinAlgError, ThreadpoolController().select(user_api="blas")
