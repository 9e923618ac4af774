"""PsER-ACE: ER-ACE that labels what has no label."""

import math
from typing import ClassVar

import torch

from casper.errors import require
from casper.losses import pseudo_labels
from casper.methods.er_ace import ERACE
from casper.nets import evaluating
from casper.types import Batch, Task


class PsERACE(ERACE):
    """Label the stream's items without a label where the network is sure enough, then learn as ER-ACE does.

    An item takes the class of the present task whose logit, in evaluation mode, leads the next one by more than the
    threshold; the others are dropped. True labels stay. What was labelled so enters the memory, too. With all labels
    given it is ER-ACE. Boschini et al., "Continual Semi-Supervised Learning through Contrastive Interpolation
    Consistency" (Pattern Recognition Letters 2022), has it for plain replay; the name is that of the paper's table.
    """

    makes_labels: ClassVar[bool] = True

    def __init__(self, *, threshold: float = 5.5) -> None:
        """Set the hyper-parameter.

        Args:
            threshold: By how much the highest logit must lead. Default 5.5: that of the original code; the paper gives
                none.
        """
        require(0 <= threshold < math.inf, "threshold", "a finite number from 0", threshold)
        self.threshold = threshold

    def learned_part(self, batch: Batch, task: Task) -> Batch:
        """Choose the items with a label, true or the network's own."""
        with evaluating(self.net):
            logits = self.net(batch.inputs).logits
        columns = torch.tensor(task.classes, device=logits.device)
        labels = pseudo_labels(batch.labels, logits, columns, self.threshold)
        return super().learned_part(Batch(batch.images, labels, batch.inputs), task)
