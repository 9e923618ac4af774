"""A regularizer's own pass of the stream batch, labelled or not."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from casper.regularizers.extra_pass import extra_pass
from casper.step import Step
from casper.types import Outputs


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
