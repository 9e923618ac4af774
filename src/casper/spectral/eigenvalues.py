"""The smallest eigenvalues of a symmetric matrix."""

import torch
from torch import Tensor

# Below this size LAPACK's whole decomposition costs less than the call of its subset driver (measured at 64 and 256).
_SUBSET_FROM = 128


def smallest_eigenpairs(matrix: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Compute the `count` smallest eigenvalues of a symmetric matrix, in ascending order, and their eigenvectors.

    A large matrix on the CPU goes to LAPACK's subset driver, which at n = 256 takes less than half the time of the
    whole decomposition; elsewhere `torch.linalg.eigh` decomposes it whole.

    The gradient of an eigenvalue is ∂λ_i/∂M = v_i v_iᵀ. No eigenvector need be differentiated, so repeated eigenvalues
    are harmless: summed over a whole repeated group it is the projector on its eigenspace. Where a sum cuts through a
    group it is one of several sub-gradients: finite, but dependent on the basis that LAPACK returns.

    Args:
        matrix: Symmetric tensor of shape (n, n), finite.
        count: How many pairs, at most n.

    Returns:
        Eigenvalues of shape (count,) and eigenvectors of shape (n, count). Neither carries gradient.
    """
    matrix = matrix.detach()
    if matrix.device.type == "cpu" and len(matrix) >= _SUBSET_FROM and 2 * count <= len(matrix):
        from scipy.linalg import LinAlgError, eigh  # here, so that importing the loss imports torch alone

        try:
            values, vectors = eigh(matrix.numpy(), subset_by_index=(0, count - 1), check_finite=False)
            return torch.from_numpy(values), torch.from_numpy(vectors)
        except LinAlgError:
            pass  # it may give up on tightly clustered spectra; the whole decomposition does not
    values, vectors = torch.linalg.eigh(matrix)
    return values[:count], vectors[:, :count]
