"""Results as pictures: each a function of plain data, and each drawn from finished runs by its name."""

from casper.reporting.figures.accuracy_matrix import MatrixVariant, draw_accuracy_matrices
from casper.reporting.figures.embeddings import EmbeddedVariant, draw_embeddings
from casper.reporting.figures.from_runs import FIGURES, FigureKind, check_figure_name, draw_figure
from casper.reporting.figures.functional_maps import MappedVariant, draw_functional_maps
from casper.reporting.figures.names import VariantName
from casper.reporting.figures.over_tasks import Curve, accuracy_over_tasks, draw_over_tasks
from casper.reporting.figures.so_far import averages_so_far, forgetting_so_far
from casper.reporting.figures.spectra import SpectralVariant, draw_spectra
from casper.reporting.figures.style import check_figure_path, save_figure
from casper.reporting.figures.times import TimedVariant, draw_times

__all__ = [
    "FIGURES",
    "Curve",
    "EmbeddedVariant",
    "FigureKind",
    "MappedVariant",
    "MatrixVariant",
    "SpectralVariant",
    "TimedVariant",
    "VariantName",
    "accuracy_over_tasks",
    "averages_so_far",
    "check_figure_name",
    "check_figure_path",
    "draw_accuracy_matrices",
    "draw_embeddings",
    "draw_figure",
    "draw_functional_maps",
    "draw_over_tasks",
    "draw_spectra",
    "draw_times",
    "forgetting_so_far",
    "save_figure",
]
