"""Centres of a class's features."""

import warnings

import torch
import torch.nn.functional as F
from torch import Tensor


def kmeans_centres(features: Tensor, num_centres: int, seed: int) -> Tensor:
    """Find k-means centres of L2-normalised features; the centres themselves are not normalised again.

    scikit-learn's k-means++ with 10 starts and at most 300 rounds, on one thread, so that sums come in one order.

    Args:
        features: Tensor of shape (n, d).
        num_centres: How many centres; n if there are fewer features.
        seed: Determines the starts.

    Returns:
        Tensor of shape (min(num_centres, n), d), in the features' type and on their device.
    """
    from sklearn.cluster import KMeans  # here: they cost a second, and only imprinting needs them
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    points = F.normalize(features).double().cpu().numpy()
    kmeans = KMeans(min(num_centres, len(points)), init="k-means++", n_init=10, max_iter=300, random_state=seed)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # equal points share a centre
        centres = kmeans.fit(points).cluster_centers_
    return torch.from_numpy(centres).to(features)
