"""A regularizer's own draw from the memory and its own forward pass of it."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator, Tensor

from casper.errors import require
from casper.regularizers.extra_pass import extra_pass
from casper.step import Step

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
