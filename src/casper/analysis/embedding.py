"""Embed a latent space in the plane: t-SNE, and graphs that are small enough to draw."""

from typing import Any

import torch
from torch import Tensor

from casper.analysis.graph import check_labels, latent_graph, nearest_others
from casper.analysis.spectrum import spectrum
from casper.errors import ParameterError, require
from casper.spectral import check_features, to_unit_scale


def tsne_embedding(features: Tensor, perplexity: float = 30.0, seed: int = 0) -> Tensor:
    """Embed features in the plane by t-SNE (van der Maaten and Hinton, 2008), initialised with two principal axes.

    Neighbours stay neighbours, but the distances between groups and the sizes of groups mean little. The embedding is
    an illustration; `neighborhood_purity` is a measurement.

    Args:
        features: Tensor of shape (n, d), finite, not all equal, with n > perplexity and d >= 2; their scale and
            position do not matter.
        perplexity: The effective number of neighbours. Default: scikit-learn's.
        seed: The seed of the random numbers.

    Returns:
        Tensor of shape (n, 2), float32.

    Example:
        >>> import torch
        >>> from casper.analysis import tsne_embedding
        >>> features = torch.randn(20, 8, generator=torch.Generator().manual_seed(0))
        >>> tsne_embedding(features, perplexity=5).shape
        torch.Size([20, 2])
    """
    from sklearn.manifold import TSNE

    check_features(features)
    require(
        0 < perplexity < len(features),
        "perplexity",
        f"in (0, {len(features)}), less than the number of points",
        perplexity,
    )
    require(seed >= 0, "seed", "at least 0", seed)
    if features.shape[1] < 2:
        raise ParameterError("features", "a matrix of at least two columns", f"shape {tuple(features.shape)}")
    centred, _ = to_unit_scale(features.detach().cpu().double())
    spread = centred.abs().max()
    if spread == 0:  # scikit-learn would divide by it
        raise ParameterError("features", "points that are not all equal", f"{len(features)} equal points")
    points = (centred / spread).float().numpy()
    return torch.from_numpy(TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(points))


def neighborhood_purity(points: Tensor, labels: Tensor, num_neighbors: int = 10) -> float:
    """Compute the mean share of the nearest other points that have the same class, in percent.

    Args:
        points: Tensor of shape (n, d), finite: features, or their embedding.
        labels: Tensor of shape (n,).
        num_neighbors: The number of nearest other points, in [1, n - 1].

    Example:
        >>> import torch
        >>> from casper.analysis import neighborhood_purity
        >>> points = torch.tensor([[0.0], [1.0], [3.0], [4.0]])
        >>> neighborhood_purity(points, torch.tensor([0, 0, 1, 1]), num_neighbors=1)
        100.0
    """
    check_labels(labels, points, "points")
    nearest = nearest_others(points, num_neighbors)
    return 100 * float((labels[nearest] == labels[:, None]).double().mean())


def highest_purity(labels: Tensor, num_neighbors: int = 10) -> float:
    """Compute the upper bound of `neighborhood_purity` in percent, as a point of a class of s has s - 1 such others.

    It is the mean over points of min(k, s_i - 1) / k, where s_i is the size of the class of point i.

    Args:
        labels: Tensor of shape (n,).
        num_neighbors: The number k of nearest other points.

    Example:
        >>> import torch
        >>> from casper.analysis import highest_purity
        >>> highest_purity(torch.tensor([0, 0, 1, 1]), num_neighbors=2)
        50.0
    """
    sizes = labels.unique(return_counts=True)[1]
    return 100 * float((sizes * (sizes - 1).clamp(max=num_neighbors)).sum() / (num_neighbors * len(labels)))


def small_graph(features: Tensor, labels: Tensor, num_neighbors: int = 4) -> dict[str, Any]:
    """Embed a small latent geometry graph in the plane, and compute all its eigenvalues.

    Args:
        features: Tensor of shape (n, d), finite, with n above `num_neighbors` and d >= 2.
        labels: Tensor of shape (n,).
        num_neighbors: The number of neighbours in the graph.

    Returns:
        `points`, embedded by t-SNE; their `labels`; `edges`, pairs of indices of points, each once; `eigenvalues`, all
        of them; `num_classes`, the number p of classes; `eigengap`, λ_{p+1} - λ_p, None if p = n; `num_components`.

    Example:
        >>> import torch
        >>> from casper.analysis import small_graph
        >>> points = torch.tensor([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [4.0, 0.0]])
        >>> graph = small_graph(points, torch.tensor([0, 0, 1, 1]), num_neighbors=1)
        >>> graph["edges"], graph["eigenvalues"]
        ([[0, 1], [2, 3]], [0.0, 0.0, 2.0, 2.0])
    """
    check_labels(labels, features)
    graph = latent_graph(features, num_neighbors).tocoo()
    edges = [[int(i), int(j)] for i, j in zip(*graph.coords, strict=True) if i < j]
    found = spectrum(features, len(features), num_neighbors)
    points = tsne_embedding(features, perplexity=min(10.0, len(features) / 3))
    num_classes = len(labels.unique())
    return {
        "points": [[round(value, 3) for value in point] for point in points.tolist()],
        "labels": labels.tolist(),
        "edges": edges,
        "eigenvalues": [round(value, 6) for value in found.eigenvalues.tolist()],
        "num_classes": num_classes,
        "eigengap": found.gap(num_classes) if num_classes < len(features) else None,
        "num_components": found.num_components,
    }
