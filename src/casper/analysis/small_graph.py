"""A latent graph small enough to be drawn."""

from typing import Any

from torch import Tensor

from casper.analysis.embedding import tsne_embedding
from casper.analysis.latent_graph import latent_graph
from casper.analysis.neighbors import check_labels
from casper.analysis.spectrum import spectrum


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
