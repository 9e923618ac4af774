"""A regularizer's own forward passes: of a draw from the memory, of the stream batch."""

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
    """Compute features in the network's mode, with or without an effect on BatchNorm's running statistics.

    Args:
        net: The network under training.
        inputs: Tensor of shape (n, c, h, w).
        update_statistics: Whether a pass in training mode updates them, as every pass of a method does.

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
    """Draw from the memory and pass the items, freshly augmented, through the network in training mode.

    Attributes:
        num_classes: From how many classes a balanced draw is made (p).
        num_samples: How many items are drawn; None: as many as a stream batch has.
        sampling: `"balanced"`: evenly from p random classes, or uniformly where labels are not trusted. `"uniform"`:
            any items. `"all"`: the whole memory.
        update_statistics: Whether the pass updates BatchNorm's running statistics.
        shrink: The released code's rule for scarce classes; see `balanced_rows`.
        trust_labels: Whether the memory's labels may be gone by; None: unless the method made some of them itself.
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
        """Raise `ValueError` if p or k cannot be met by a draw of this size; p * k beyond it is a published setting."""
        if self.sampling == "all":
            return
        draw = self.num_samples or batch_size
        requirement = f"less than the draw of {draw} items"
        require(self.num_classes < draw, "num_classes", requirement, self.num_classes)
        require(num_neighbors is None or num_neighbors < draw, "num_neighbors", requirement, num_neighbors)

    def rows(self, step: Step, generator: Generator) -> Tensor | None:
        """Draw rows of the memory; None in the first task, or if fewer than two classes are known to be in them."""
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
        """Tell whether to go by the memory's labels."""
        return step.trusts_labels if self.trust_labels is None else self.trust_labels

    def features(self, step: Step, rows: Tensor, generator: Generator) -> Tensor:
        """Pass the rows' images, as the method trains on them, through the network."""
        inputs = step.view(step.memory.images.index_select(0, rows), generator)
        return extra_pass(step.net, inputs, update_statistics=self.update_statistics)


@dataclass(frozen=True)
class StreamPass:
    """Pass the whole stream batch, as the method sees it, through the network in training mode.

    Attributes:
        wanted: Whether the pass is made; None: where the stream hides labels.
        always: Whether also in steps in which the method has nothing to learn; None: it is.
        update_statistics: Whether the pass updates BatchNorm's running statistics.
    """

    wanted: bool | None
    always: bool | None
    update_statistics: bool

    def features(self, step: Step, passes: Mapping[str, Outputs]) -> Tensor | None:
        """Compute the batch's features; None: there is no such pass in this step."""
        wanted = step.hides_labels if self.wanted is None else self.wanted
        if not wanted or (self.always is False and not passes):
            return None
        return extra_pass(step.net, step.stream.inputs, update_statistics=self.update_statistics)
