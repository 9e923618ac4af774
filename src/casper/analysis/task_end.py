"""Everything that is asked of a latent space at the end of a task."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from casper.analysis.label_variation import crossing_edges, least_label_signal_variation
from casper.analysis.latent import latent_summary
from casper.analysis.latent_graph import latent_graph
from casper.analysis.spectrum import graph_spectrum

# How many eigenvalues are kept behind the one at the number of classes.
_BEYOND = 10
_OF_THE_GRAPH = (
    "label_signal_variation",
    "label_signal_variation_share",
    "label_signal_variation_least",
    "spectrum",
)


def task_end_summary(
    tests: Sequence[tuple[Tensor, Tensor]], support: Tensor, support_labels: Tensor, num_neighbors: int = 10
) -> dict[str, Any]:
    """Summarize the features of the test sets met so far, and the latent geometry graph of the memory.

    Args:
        tests: Features of shape (n, d) and labels of shape (n,) of each task's test set.
        support: Features of the memory's items, shape (m, d); m may be 0.
        support_labels: Tensor of shape (m,).
        num_neighbors: The number of neighbours in the graph. Default: the released code's.

    Returns:
        What `latent_summary` says; `memory`, the number m; and of the memory's graph, None where m is not above
        `num_neighbors`: `label_signal_variation`, its `_share`, the `_least` it can be, and `spectrum` with the lowest
        `eigenvalues` λ, the number p of classes as `num_classes`, `eigengap` = λ_{p+1} - λ_p, `widest_gap` and
        `widest_gap_at` among those eigenvalues, and `num_components`.
    """
    summary: dict[str, Any] = {"memory": len(support), **latent_summary(tests, support, support_labels)}
    if len(support) <= num_neighbors:
        return {**summary, **dict.fromkeys(_OF_THE_GRAPH)}
    graph = latent_graph(support, num_neighbors)
    crossing, edges = crossing_edges(graph, support_labels)
    found = (
        crossing,
        crossing / edges,
        least_label_signal_variation(support_labels, num_neighbors),
        _spectrum(graph, len(support_labels.unique())),
    )
    return {**summary, **dict(zip(_OF_THE_GRAPH, found, strict=True))}


def _spectrum(graph: Any, num_classes: int) -> dict[str, Any]:
    num_points = graph.shape[0]
    found = graph_spectrum(graph, min(num_points, num_classes + 1 + _BEYOND))
    widest = found.widest_gap_at
    return {
        "eigenvalues": [round(value, 6) for value in found.eigenvalues.tolist()],
        "num_classes": num_classes,
        "eigengap": found.gap(num_classes) if num_classes < num_points else None,
        "widest_gap": found.gap(widest),
        "widest_gap_at": widest,
        "num_components": found.num_components,
    }
