"""Plain data to matplotlib figures; nothing here knows of runs."""

from casper.plots.curves import Curve, accuracy_over_tasks, draw_over_tasks
from casper.plots.embeddings import EmbeddedVariant, draw_embeddings
from casper.plots.heatmaps import MappedVariant, MatrixVariant, draw_accuracy_matrices, draw_functional_maps
from casper.plots.labels import VariantName
from casper.plots.spectra import SpectralVariant, draw_spectra
from casper.plots.style import check_figure_path, save_figure
from casper.plots.times import TimedVariant, draw_times

__all__ = [
    "Curve",
    "EmbeddedVariant",
    "MappedVariant",
    "MatrixVariant",
    "SpectralVariant",
    "TimedVariant",
    "VariantName",
    "accuracy_over_tasks",
    "check_figure_path",
    "draw_accuracy_matrices",
    "draw_embeddings",
    "draw_functional_maps",
    "draw_over_tasks",
    "draw_spectra",
    "draw_times",
    "save_figure",
]
