"""Finetune: the lower bound."""

from collections.abc import Mapping
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from casper.methods.base import Method
from casper.step import Step
from casper.types import Outputs


class Finetune(Method):
    """Train on each task in turn and do nothing against forgetting: cross-entropy over all classes, no memory."""

    keeps_memory: ClassVar[bool] = False

    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the cross-entropy of the stream batch."""
        return {"stream": F.cross_entropy(passes["stream"].logits, step.stream.labels)}
