import pytest
import torch

from casper.spectral import eigenpairs as module
from casper.spectral import smallest_eigenpairs


def symmetric(n, seed=0):
    matrix = torch.randn(n, n, generator=torch.Generator().manual_seed(seed))
    return matrix + matrix.T


@pytest.mark.parametrize(("n", "count"), [(5, 5), (64, 17), (200, 9), (200, 150)])
def test_pairs_are_the_smallest_and_solve_the_equation(n, count):
    matrix = symmetric(n)
    values, vectors = smallest_eigenpairs(matrix, count)
    torch.testing.assert_close(values, torch.linalg.eigvalsh(matrix)[:count], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(matrix @ vectors, vectors * values, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(vectors.T @ vectors, torch.eye(count), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("n", [64, 256])
def test_repeated_eigenvalues_keep_orthonormal_vectors(n):
    block = torch.ones(4, 4) / 4
    matrix = torch.eye(n) - torch.block_diag(*[block] * (n // 4))
    values, vectors = smallest_eigenpairs(matrix, n // 4)
    torch.testing.assert_close(values, torch.zeros(n // 4), atol=1e-5, rtol=0)
    torch.testing.assert_close(vectors.T @ vectors, torch.eye(n // 4), atol=1e-4, rtol=0)


def test_full_decomposition_if_the_subset_driver_fails(monkeypatch):
    import scipy.linalg

    def give_up(*_, **__):
        raise scipy.linalg.LinAlgError

    monkeypatch.setattr(scipy.linalg, "eigh", give_up)
    matrix = symmetric(module._SUBSET_FROM)
    values, _ = smallest_eigenpairs(matrix, 3)
    torch.testing.assert_close(values, torch.linalg.eigvalsh(matrix)[:3])


def test_the_result_carries_no_gradient():
    values, vectors = smallest_eigenpairs(symmetric(5).requires_grad_(), 2)
    assert not values.requires_grad
    assert not vectors.requires_grad
