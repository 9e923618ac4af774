"""Questions asked of a trained latent space."""

from casper.analysis.knn_probe import probe_accuracies
from casper.analysis.latent import latent_summary
from casper.analysis.variance import same_class_variance, total_variance

__all__ = ["latent_summary", "probe_accuracies", "same_class_variance", "total_variance"]
