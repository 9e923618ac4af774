"""The control for CaSpeR: the same draw and the same extra forward pass, without a loss."""

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
    """Pass the items CaSpeR would draw through the network, without a gradient and without a loss term.

    A pass in training mode updates BatchNorm's running statistics, which evaluation uses. With a class-balanced draw,
    this alone can change the accuracy; this control measures the effect. The final weights equal those of the method
    without a regularizer if training never reads the running statistics. It uses CaSpeR's random generator, so that
    both draw the same items.

    Example:
        >>> from casper import ERACE, ForwardOnly, Trainer, split_digits
        >>> control = ForwardOnly(num_classes=3)
        >>> trainer = Trainer(split_digits(), ERACE(), regularizers=[control], buffer_size=50)
        >>> trainer.regularizers[0].name
        'forward-only'
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
        """Set the hyper-parameters, to the values of the CaSpeR that it is compared with.

        Args:
            weight: 0 disables the pass; all other values have the same effect.
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
        """Raise `ParameterError` if the number of classes is not less than the size of a draw."""
        self.replay.check(None, batch_size)

    @torch.no_grad()
    def loss(self, step: Step, passes: Mapping[str, Outputs], generator: Generator) -> Tensor | None:
        """Run the passes; always returns None."""
        rows = self.replay.rows(step, generator) if passes else None
        if rows is not None:
            self.replay.features(step, rows, generator)
        self.stream.features(step, passes)
        return None
