"""A latent space in the plane."""

import torch
from torch import Tensor

from casper.analysis.neighbors import nearest_others
from casper.errors import ParameterError, require
from casper.spectral import check_features


def tsne_embedding(features: Tensor, perplexity: float = 30.0, seed: int = 0) -> Tensor:
    """Lay features out in the plane by t-SNE (van der Maaten and Hinton, 2008), from their first two principal axes.

    Neighbours stay neighbours; distances between groups, and their sizes, mean little. A picture, not a measurement:
    `neighborhood_purity` puts a number beside it.

    Args:
        features: Tensor of shape (n, d), finite, with n > perplexity and d >= 2.
        perplexity: The effective number of neighbours. Default: scikit-learn's.
        seed: Determines what is random.

    Returns:
        Tensor of shape (n, 2), float32.
    """
    from sklearn.manifold import TSNE

    check_features(features)
    require(0 < perplexity < len(features), "perplexity", f"above 0 and below the {len(features)} points", perplexity)
    if features.shape[1] < 2:
        raise ParameterError("features", "of at least two columns", f"shape {tuple(features.shape)}")
    points = features.detach().cpu().float().numpy()
    return torch.from_numpy(TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(points))


def neighborhood_purity(points: Tensor, labels: Tensor, num_neighbors: int = 10) -> float:
    """Average over points the part of their nearest others that are of their own class, in percent.

    Args:
        points: Tensor of shape (n, d), finite: features, or their embedding.
        labels: Tensor of shape (n,).
        num_neighbors: How many of the nearest others are looked at, in 1..n-1.
    """
    if labels.shape != points.shape[:1]:
        raise ParameterError("labels", f"one for each of {len(points)} points", f"shape {tuple(labels.shape)}")
    nearest = nearest_others(points, num_neighbors)
    return 100 * float((labels[nearest] == labels[:, None]).double().mean())
