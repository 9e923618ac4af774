"""A latent space in the plane: t-SNE, and graphs small enough to be drawn."""

from typing import Any

import torch
from torch import Tensor

from casper.analysis.graph import check_labels, latent_graph, nearest_others
from casper.analysis.spectrum import spectrum
from casper.errors import ParameterError, require
from casper.spectral import check_features, to_unit_scale


def tsne_embedding(features: Tensor, perplexity: float = 30.0, seed: int = 0) -> Tensor:
    """Lay features out in the plane by t-SNE (van der Maaten and Hinton, 2008), from their first two principal axes.

    Neighbours stay neighbours; distances between groups, and their sizes, mean little. A picture, not a measurement:
    `neighborhood_purity` puts a number beside it.

    Args:
        features: Tensor of shape (n, d), finite, not all alike, with n > perplexity and d >= 2; their scale and place
            do not matter.
        perplexity: The effective number of neighbours. Default: scikit-learn's.
        seed: Determines what is random.

    Returns:
        Tensor of shape (n, 2), float32.
    """
    from sklearn.manifold import TSNE

    check_features(features)
    require(0 < perplexity < len(features), "perplexity", f"above 0 and below the {len(features)} points", perplexity)
    require(seed >= 0, "seed", "at least 0", seed)
    if features.shape[1] < 2:
        raise ParameterError("features", "of at least two columns", f"shape {tuple(features.shape)}")
    centred, _ = to_unit_scale(features.detach().cpu().double())
    spread = centred.abs().max()
    if spread == 0:  # scikit-learn would divide by it
        raise ParameterError("features", "of points that differ", f"{len(features)} that are alike")
    points = (centred / spread).float().numpy()
    return torch.from_numpy(TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(points))


def neighborhood_purity(points: Tensor, labels: Tensor, num_neighbors: int = 10) -> float:
    """Average over points the part of their nearest others that are of their own class, in percent.

    Args:
        points: Tensor of shape (n, d), finite: features, or their embedding.
        labels: Tensor of shape (n,).
        num_neighbors: How many of the nearest others are looked at, in 1..n-1.
    """
    check_labels(labels, points, "points")
    nearest = nearest_others(points, num_neighbors)
    return 100 * float((labels[nearest] == labels[:, None]).double().mean())


def highest_purity(labels: Tensor, num_neighbors: int = 10) -> float:
    """Compute how high `neighborhood_purity` can be at all, in percent: a class of s points has s - 1 others to offer.

    It is the mean over points of min(k, s_i - 1) / k, where s_i is the size of i's class.

    Args:
        labels: Tensor of shape (n,).
        num_neighbors: The number k of nearest others that are looked at.
    """
    sizes = labels.unique(return_counts=True)[1]
    return 100 * float((sizes * (sizes - 1).clamp(max=num_neighbors)).sum() / (num_neighbors * len(labels)))


def small_graph(features: Tensor, labels: Tensor, num_neighbors: int = 4) -> dict[str, Any]:
    """Lay a small latent geometry graph out in the plane, with all its eigenvalues.

    Args:
        features: Tensor of shape (n, d), finite, with n above `num_neighbors` and d >= 2.
        labels: Tensor of shape (n,).
        num_neighbors: The number of neighbours in the graph.

    Returns:
        `points`, laid out by t-SNE; their `labels`; `edges`, pairs of places among them, each once; `eigenvalues`, all
        of them; `num_classes`, the number p of classes; `eigengap`, λ_{p+1} - λ_p, None where p = n; `num_components`.
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
