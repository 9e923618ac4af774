"""Analysis of a latent space: functions of features and labels, from any network.

Example:
    Four points on a line fall into two groups, which are the classes:

    >>> import torch
    >>> from casper.analysis import label_signal_variation, spectrum
    >>> points = torch.tensor([[0.0], [1.0], [3.0], [4.0]])
    >>> spectrum(points, count=3, num_neighbors=1).widest_gap_at
    2
    >>> label_signal_variation(points, torch.tensor([0, 0, 1, 1]), num_neighbors=1)
    0.0
"""

from casper.analysis.embedding import highest_purity, neighborhood_purity, small_graph, tsne_embedding
from casper.analysis.functional_map import (
    functional_map,
    map_between,
    off_diagonal_energy,
    off_diagonal_share,
    parts_warning,
)
from casper.analysis.graph import latent_graph, nearest_others
from casper.analysis.knn_probe import knn_accuracy, nearest_mean_accuracy, probe_accuracies
from casper.analysis.label_variation import (
    label_signal_variation,
    label_signal_variation_share,
    least_label_signal_variation,
    sigma_neighbors,
)
from casper.analysis.spectrum import Spectrum, lowest_eigenpairs, spectrum
from casper.analysis.summary import (
    coordinate_variance,
    latent_summary,
    same_class_variance,
    task_end_summary,
    total_variance,
)

__all__ = [
    "Spectrum",
    "coordinate_variance",
    "functional_map",
    "highest_purity",
    "knn_accuracy",
    "label_signal_variation",
    "label_signal_variation_share",
    "latent_graph",
    "latent_summary",
    "least_label_signal_variation",
    "lowest_eigenpairs",
    "map_between",
    "nearest_mean_accuracy",
    "nearest_others",
    "neighborhood_purity",
    "off_diagonal_energy",
    "off_diagonal_share",
    "parts_warning",
    "probe_accuracies",
    "same_class_variance",
    "sigma_neighbors",
    "small_graph",
    "spectrum",
    "task_end_summary",
    "total_variance",
    "tsne_embedding",
]
