"""Draw plain data as matplotlib figures; this package does not depend on runs."""

from casper.plots.accuracy_matrices import MatrixVariant, draw_accuracy_matrices
from casper.plots.curves import Curve, accuracy_over_tasks, draw_over_tasks
from casper.plots.embeddings import EmbeddedVariant, LabelledPoints, draw_embeddings
from casper.plots.functional_maps import MappedVariant, draw_functional_maps
from casper.plots.labels import VariantName
from casper.plots.latent_graphs import GraphVariant, draw_latent_graphs
from casper.plots.spectra import Eigenvalues, SpectralVariant, draw_spectra
from casper.plots.style import FIGURE_SUFFIXES, save_figure
from casper.plots.times import TimedVariant, draw_times

__all__ = [
    "FIGURE_SUFFIXES",
    "Curve",
    "Eigenvalues",
    "EmbeddedVariant",
    "GraphVariant",
    "LabelledPoints",
    "MappedVariant",
    "MatrixVariant",
    "SpectralVariant",
    "TimedVariant",
    "VariantName",
    "accuracy_over_tasks",
    "draw_accuracy_matrices",
    "draw_embeddings",
    "draw_functional_maps",
    "draw_latent_graphs",
    "draw_over_tasks",
    "draw_spectra",
    "draw_times",
    "save_figure",
]
