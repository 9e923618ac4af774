"""DER++: replay of labels and of stored logits."""

from collections.abc import Mapping
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from casper.errors import require_weights
from casper.memory import Column, balanced_reservoir
from casper.methods.base import Method
from casper.step import Progress, Step
from casper.types import Batch, Outputs, Task


class DERpp(Method):
    """Match the stored logits of one replayed batch and the labels of another.

    loss = CE(stream) + alpha * mean((logits - stored)²) over the items and classes of a first draw + beta * CE of a
    second, independent draw; three passes. Replay starts as soon as the memory is not empty. An item is stored with the
    logits of the training step in which it arrived, before the update; they are never refreshed. The memory is a
    class-balanced reservoir, as in the paper's comparison. Buzzega et al., "Dark Experience for General Continual
    Learning: a Strong, Simple Baseline" (NeurIPS 2020).

    Example:
        >>> from casper import MLP, DERpp, Trainer, split_digits
        >>> trainer = Trainer(split_digits(), DERpp(alpha=0.3, beta=0.5), backbone=MLP, buffer_size=50)
        >>> metrics = trainer.run()
        >>> tuple(trainer.memory.columns["logits"].shape)
        (50, 10)
    """

    memory_columns: ClassVar[Mapping[str, Column]] = {"logits": Column(torch.float32, per_class=True)}

    def __init__(self, *, alpha: float = 0.5, beta: float = 0.1) -> None:
        """Set the hyper-parameters; the defaults are the paper's for Split CIFAR-100.

        Args:
            alpha: The weight of the term of stored logits.
            beta: The weight of the term of stored labels.
        """
        require_weights(alpha=alpha, beta=beta)
        self.alpha, self.beta = alpha, beta

    def draw(self, batch: Batch, task: Task, progress: Progress) -> Step:
        """Draw two independent replay batches."""
        replays = (self.replay_batch(), self.replay_batch()) if len(self.memory) else ()
        return self.make_step(batch, task, progress, replays, first_labelled=1)

    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the cross-entropies of stream and replay, and the distance to the stored logits."""
        terms = {"stream": F.cross_entropy(passes["stream"].logits, step.stream.labels)}
        if step.replays:
            first, second = step.replays
            terms["logits"] = self.alpha * F.mse_loss(passes["replay 1"].logits, first.columns["logits"])
            terms["labels"] = self.beta * F.cross_entropy(passes["replay 2"].logits, second.labels)
        return terms

    def remember(self, step: Step, passes: Mapping[str, Outputs]) -> None:
        """Offer the stream images, with their logits of this step, to the class-balanced reservoir."""
        self.memory.insert(
            step.stream.images,
            step.stream.labels,
            {"logits": passes["stream"].logits.detach()},
            policy=balanced_reservoir,
            generator=self.generators["memory"],
        )
