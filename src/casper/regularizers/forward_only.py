"""The control for CaSpeR: the same draw, the same extra pass, no loss."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Generator, Tensor

from casper.errors import require_weights
from casper.regularizers.base import Regularizer
from casper.regularizers.passes import ReplayPass, Sampling, StreamPass
from casper.step import Step
from casper.types import Outputs


class ForwardOnly(Regularizer):
    """Pass the items CaSpeR would draw through the network, without gradient, and add nothing.

    A pass in training mode updates BatchNorm's running statistics, which evaluation uses: with a class-balanced draw
    that alone can change the accuracy. This control shows how much. It ends with the very weights of the plain method,
    wherever training never reads the running statistics. Its randomness is CaSpeR's, so that both draw the same items.
    """

    name: ClassVar[str] = "forward-only"
    generator_name: ClassVar[str] = "casper"

    def __init__(
        self,
        weight: float = 1.0,
        num_classes: int = 8,
        *,
        num_samples: int | None = None,
        sampling: Sampling = "balanced",
        shrink: bool = False,
        trust_labels: bool | None = None,
        stream_term: bool | None = None,
        stream_always: bool | None = None,
    ) -> None:
        """Set the hyper-parameters; give those of the CaSpeR it is compared with.

        Args:
            weight: 0: does nothing; any other value: acts.
            num_classes: As in `CaSpeR`.
            num_samples: As in `CaSpeR`.
            sampling: As in `CaSpeR`.
            shrink: Whether the compared CaSpeR follows the released convention.
            trust_labels: As in `CaSpeR`.
            stream_term: As in `CaSpeR`.
            stream_always: As in `CaSpeR`.
        """
        require_weights(weight=weight)
        self.weight = weight
        self.replay = ReplayPass(num_classes, num_samples, sampling, True, shrink, trust_labels)
        self.stream = StreamPass(stream_term, stream_always, update_statistics=True)

    def check(self, *, batch_size: int) -> None:
        """Refuse a number of classes that no draw can meet."""
        self.replay.check(None, batch_size)

    @torch.no_grad()
    def loss(self, step: Step, passes: Mapping[str, Outputs], generator: Generator) -> Tensor | None:
        """Make the pass; there is never a term."""
        rows = self.replay.rows(step, generator) if passes else None
        if rows is not None:
            self.replay.features(step, rows, generator)
        self.stream.features(step, passes)
        return None
