import torch

from casper.spectral import degrees, normalized_laplacian, normalized_laplacian_backward


def random_graph(n=6, seed=0):
    upper = torch.rand(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).triu(1)
    return upper + upper.T


def test_degrees_are_row_sums():
    assert degrees(torch.tensor([[0.0, 1, 1], [1, 0, 0], [1, 0, 0]])).tolist() == [2, 1, 1]


def test_complete_graph():
    n = 6
    laplacian = normalized_laplacian(torch.ones(n, n) - torch.eye(n))
    expected = torch.tensor([0.0] + [n / (n - 1)] * (n - 1))
    torch.testing.assert_close(torch.linalg.eigvalsh(laplacian), expected, atol=1e-6, rtol=0)


def test_symmetric_to_the_last_bit_with_trace_n():
    laplacian = normalized_laplacian(random_graph(30).float())
    assert torch.equal(laplacian, laplacian.T)
    assert laplacian.trace().item() == 30


def test_backward_equals_autograd_with_the_degrees_included():
    adjacency = random_graph().requires_grad_()
    gradient = random_graph(seed=1)
    (expected,) = torch.autograd.grad((normalized_laplacian(adjacency) * gradient).sum(), adjacency)
    found = normalized_laplacian_backward(adjacency.detach(), gradient)
    # Only the symmetric part means anything for a symmetric matrix.
    torch.testing.assert_close(found + found.T, expected + expected.T)
