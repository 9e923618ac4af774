"""What the CaSpeR loss costs, against a plain version of the same formula written out below.

    python benchmarks/spectral_gap.py

Forward and backward on one thread. Times depend on the machine; the ratios and the share of the eigen-decomposition
are what to look at.
"""

import torch
from timing import median_seconds
from torch import Tensor

from casper import spectral_gap_loss
from casper.spectral import knn_graph, normalized_laplacian, smallest_eigenpairs, squared_distances


def plain_spectral_gap_loss(features: Tensor, num_communities: int, num_neighbors: int) -> Tensor:
    """The loss by autograd alone: a recorded loop over the neighbours and `torch.linalg.eigvalsh`."""
    n = len(features)
    norms = features.pow(2).sum(1)
    distances = (norms[:, None] + norms[None, :] - 2 * features @ features.T).clamp(min=0)
    distances = distances.masked_fill(torch.eye(n, dtype=torch.bool), torch.inf)

    nearest = distances.topk(num_neighbors, dim=1, largest=False).indices
    hard = torch.zeros(n, n).scatter_(1, nearest, 1.0)
    hard = ((hard + hard.T) > 0).float()

    logits, weights = -distances, torch.zeros(n, n)
    for _ in range(num_neighbors):
        log_weight = logits.log_softmax(1)
        weights = weights + log_weight.exp()
        complement = -torch.expm1(log_weight)
        value, gradient = complement.log(), (complement + 1e-7).log()
        logits = logits + value.detach() + (gradient - gradient.detach())
    weights = weights + weights.T
    adjacency = hard + (weights - weights.detach())

    scale = adjacency.sum(1).rsqrt()
    laplacian = torch.eye(n) - scale[:, None] * adjacency * scale[None, :]
    eigenvalues = torch.linalg.eigvalsh(laplacian)
    return eigenvalues[:num_communities].sum() - eigenvalues[num_communities]


def clustered_features(n: int, dim: int, num_classes: int) -> Tensor:
    """Noisy class centres at the scale of pooled ReLU features, where the soft neighbour choice is not saturated."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(num_classes, dim, generator=generator)
    noise = torch.randn(n, dim, generator=generator)
    return 0.05 * (centres[torch.arange(n) % num_classes] + noise).relu()


def main() -> None:
    torch.set_num_threads(1)
    print(f"{'n':>4} {'d':>4} {'p':>3} {'k':>3} | {'plain ms':>9} {'casper ms':>9} {'plain/casper':>12} "
          f"{'eigen ms':>9} {'eigen share':>11} {'gradient error':>14}")  # fmt: skip
    for n, p, k, repeats in ((64, 16, 4, 200), (64, 8, 8, 200), (256, 16, 4, 50), (256, 16, 16, 50)):
        features = clustered_features(n, 512, p).requires_grad_()

        def gradient(loss: object, features: Tensor = features, p: int = p, k: int = k) -> Tensor:
            (result,) = torch.autograd.grad(loss(features, p, k), features)  # type: ignore[operator]
            return result

        with torch.no_grad():
            laplacian = normalized_laplacian(knn_graph(squared_distances(features), k))
        seconds = median_seconds(
            {
                "plain": lambda: gradient(plain_spectral_gap_loss),
                "casper": lambda: gradient(spectral_gap_loss),
                "eigen": lambda: smallest_eigenpairs(laplacian, p + 1),  # noqa: B023 - used within this iteration
            },
            repeats,
        )
        reference = gradient(plain_spectral_gap_loss)
        error = (gradient(spectral_gap_loss) - reference).norm() / reference.norm()
        ms = {name: 1e3 * value for name, value in seconds.items()}
        print(f"{n:>4} {512:>4} {p:>3} {k:>3} | {ms['plain']:>9.2f} {ms['casper']:>9.2f} "
              f"{ms['plain'] / ms['casper']:>12.2f} {ms['eigen']:>9.2f} {ms['eigen'] / ms['casper']:>10.0%} "
              f"{error:>15.1e}")  # fmt: skip


if __name__ == "__main__":
    main()
