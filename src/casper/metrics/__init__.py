"""The accuracy matrix and the metrics computed from it."""

from casper.metrics.accuracy import AccuracyMatrix, accuracy, empty_matrix
from casper.metrics.record import Accuracies, Record
from casper.metrics.summaries import (
    adjusted_forgetting,
    adjusted_forgetting_before_last,
    averages_so_far,
    backward_transfer,
    final_average_accuracy,
    forgetting,
    forgetting_so_far,
    forward_transfer,
    summarize,
)

__all__ = [
    "Accuracies",
    "AccuracyMatrix",
    "Record",
    "accuracy",
    "adjusted_forgetting",
    "adjusted_forgetting_before_last",
    "averages_so_far",
    "backward_transfer",
    "empty_matrix",
    "final_average_accuracy",
    "forgetting",
    "forgetting_so_far",
    "forward_transfer",
    "summarize",
]
