"""PsER-ACE: ER-ACE with pseudo-labels for unlabelled items."""

import math
from typing import ClassVar

import torch

from casper.errors import require
from casper.losses import pseudo_labels
from casper.methods.er_ace import ERACE
from casper.nets import evaluating
from casper.types import Batch, Task


class PsERACE(ERACE):
    """Assign pseudo-labels to unlabelled stream items if the network is confident, then learn as in ER-ACE.

    An item gets the class of the present task whose logit, in evaluation mode, exceeds the second highest by more than
    the threshold; other unlabelled items are dropped. True labels are unchanged. Pseudo-labelled items are also
    inserted into the memory. If all labels are given, the method equals ER-ACE. Boschini et al., "Continual
    Semi-Supervised Learning through Contrastive Interpolation Consistency" (Pattern Recognition Letters 2022), use it
    with plain replay; the name is from the paper's table.

    Example:
        >>> from casper import MLP, PsERACE, Trainer, hide_labels, split_digits
        >>> stream = hide_labels(split_digits(), per_class=10)
        >>> trainer = Trainer(stream, PsERACE(threshold=5.5), backbone=MLP, buffer_size=50, epochs=5)
        >>> trainer.run()["class_il"]["final_average_accuracy"] > 50
        True
    """

    makes_labels: ClassVar[bool] = True

    def __init__(self, *, threshold: float = 5.5) -> None:
        """Set the hyper-parameter.

        Args:
            threshold: The required lead of the highest logit. Default 5.5: that of the original code; the paper gives
                no value.
        """
        require(0 <= threshold < math.inf, "threshold", "a finite number, at least 0", threshold)
        self.threshold = threshold

    def learned_part(self, batch: Batch, task: Task) -> Batch:
        """Select the items with a true label or a pseudo-label."""
        with evaluating(self.net):
            logits = self.net(batch.inputs).logits
        columns = torch.tensor(task.classes, device=logits.device)
        labels = pseudo_labels(batch.labels, logits, columns, self.threshold)
        return super().learned_part(Batch(batch.images, labels, batch.inputs), task)
