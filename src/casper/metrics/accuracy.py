"""Accuracy, and the accuracy matrix that all metrics are computed from."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

# Row j: after task j. Column i: on the test set of task i. In percent; None if not measured.
AccuracyMatrix = list[list[float | None]]


def empty_matrix(num_tasks: int) -> AccuracyMatrix:
    """Create a T x T matrix of unmeasured entries (None).

    Example:
        >>> from casper.metrics import empty_matrix
        >>> empty_matrix(2)
        [[None, None], [None, None]]
    """
    return [[None] * num_tasks for _ in range(num_tasks)]


def accuracy(scores: "Tensor", labels: "Tensor", classes: Sequence[int] | None = None) -> float:
    """Compute the percentage of items whose highest score is that of their class.

    Args:
        scores: Tensor of shape (n, N).
        labels: Tensor of shape (n,).
        classes: For task-incremental evaluation, the columns of the items' task, to which the prediction is
            restricted. None: all N columns compete.

    Returns:
        A number in [0, 100].

    Example:
        >>> import torch
        >>> from casper.metrics import accuracy
        >>> scores, labels = torch.tensor([[0.1, 0.9, 0.0], [0.7, 0.1, 0.2]]), torch.tensor([1, 2])
        >>> accuracy(scores, labels), accuracy(scores, labels, classes=[1, 2])
        (50.0, 100.0)
    """
    if classes is not None:
        others = scores.new_ones(scores.shape[1]).bool()
        others[list(classes)] = False
        scores = scores.masked_fill(others, -math.inf)
    return 100 * (scores.argmax(dim=1) == labels).double().mean().item()
