"""Forward passes of regularizers: over a draw from the memory, and over the stream batch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator, Tensor

from casper.errors import require
from casper.nets import FeatureClassifier, untouched_statistics
from casper.step import Step
from casper.types import Outputs


def extra_pass(net: FeatureClassifier, inputs: Tensor, *, update_statistics: bool) -> Tensor:
    """Compute features in the current mode of the network, with or without updating BatchNorm's running statistics.

    Args:
        net: The network under training.
        inputs: Tensor of shape (n, c, h, w).
        update_statistics: Whether a pass in training mode updates them, as the passes of methods do.

    Returns:
        Tensor of shape (n, d).
    """
    if update_statistics:
        return net(inputs).features
    with untouched_statistics(net):
        return net(inputs).features


Sampling = Literal["balanced", "uniform", "all"]


@dataclass(frozen=True)
class ReplayPass:
    """Draw items from the memory, augment them, and pass them through the network in training mode.

    Attributes:
        num_classes: The number p of classes in a balanced draw.
        num_samples: The number of items in a draw; None: the size of a stream batch.
        sampling: `"balanced"`: evenly from p random classes, or uniformly if labels are not trusted. `"uniform"`: any
            items. `"all"`: the whole memory.
        update_statistics: Whether the pass updates BatchNorm's running statistics.
        shrink: The released code's rule for scarce classes; see `balanced_rows`.
        trust_labels: Whether to rely on the labels in the memory; None: unless the method assigns labels itself.
    """

    num_classes: int
    num_samples: int | None
    sampling: Sampling
    update_statistics: bool
    shrink: bool = False
    trust_labels: bool | None = None

    def __post_init__(self) -> None:
        known = ("balanced", "uniform", "all")
        require(self.num_classes >= 1, "num_classes", "at least 1", self.num_classes)
        require(self.num_samples is None or self.num_samples >= 2, "num_samples", "at least 2", self.num_samples)
        require(self.sampling in known, "sampling", "'balanced', 'uniform' or 'all'", self.sampling)

    def check(self, num_neighbors: int | None, batch_size: int) -> None:
        """Raise `ValueError` unless p and k are less than the size of a draw; p * k may exceed it, as in the paper."""
        if self.sampling == "all":
            return
        draw = self.num_samples or batch_size
        requirement = f"less than the draw of {draw} items"
        require(self.num_classes < draw, "num_classes", requirement, self.num_classes)
        require(num_neighbors is None or num_neighbors < draw, "num_neighbors", requirement, num_neighbors)

    def rows(self, step: Step, generator: Generator) -> Tensor | None:
        """Draw rows of the memory; None in the first task, or if trusted labels contain fewer than two classes."""
        memory = step.memory
        if step.task.index == 0 or len(memory) < 2:
            return None
        size = self.num_samples or step.batch_size
        if self.sampling == "balanced" and self.trusts_labels(step):
            rows = memory.draw_balanced(size, self.num_classes, generator, shrink=self.shrink)
        elif self.sampling == "all":
            rows = torch.arange(len(memory), device=memory.labels.device)
        else:
            rows = memory.draw_uniform(size, generator)
        if not self.trusts_labels(step):
            return rows
        return rows if len(memory.labels[rows].unique()) >= 2 else None

    def trusts_labels(self, step: Step) -> bool:
        """Return whether to rely on the labels in the memory."""
        return step.trusts_labels if self.trust_labels is None else self.trust_labels

    def features(self, step: Step, rows: Tensor, generator: Generator) -> Tensor:
        """Compute the features of the rows' images, transformed as in the method's training."""
        inputs = step.view(step.memory.images.index_select(0, rows), generator)
        return extra_pass(step.net, inputs, update_statistics=self.update_statistics)


@dataclass(frozen=True)
class StreamPass:
    """Pass the whole stream batch, as transformed for the method, through the network in training mode.

    Attributes:
        wanted: Whether to run the pass; None: if the stream hides labels.
        always: Whether to run it also in steps in which the method has nothing to learn; None means True.
        update_statistics: Whether the pass updates BatchNorm's running statistics.
    """

    wanted: bool | None
    always: bool | None
    update_statistics: bool

    def features(self, step: Step, passes: Mapping[str, Outputs]) -> Tensor | None:
        """Compute the features of the batch; None if there is no such pass in this step."""
        wanted = step.hides_labels if self.wanted is None else self.wanted
        if not wanted or (self.always is False and not passes):
            return None
        return extra_pass(step.net, step.stream.inputs, update_statistics=self.update_statistics)
