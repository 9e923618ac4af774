"""Mathematics of the latent geometry graph: pure functions of tensors, from features to eigenvalues to the loss."""

from casper.spectral.checks import all_finite, check_features
from casper.spectral.distances import squared_distances, squared_distances_backward, to_unit_scale
from casper.spectral.eigenpairs import smallest_eigenpairs
from casper.spectral.gap_loss import Convention, GapConvention, SurrogateMetric, gap_convention, spectral_gap_loss
from casper.spectral.knn_graph import knn_graph, nearest_neighbors, soft_neighbors, soft_neighbors_backward
from casper.spectral.laplacian import degrees, normalized_laplacian, normalized_laplacian_backward

__all__ = [
    "Convention",
    "GapConvention",
    "SurrogateMetric",
    "all_finite",
    "check_features",
    "degrees",
    "gap_convention",
    "knn_graph",
    "nearest_neighbors",
    "normalized_laplacian",
    "normalized_laplacian_backward",
    "smallest_eigenpairs",
    "soft_neighbors",
    "soft_neighbors_backward",
    "spectral_gap_loss",
    "squared_distances",
    "squared_distances_backward",
    "to_unit_scale",
]
