"""How many passes are made through networks: counted where they are made."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.nn.modules.module import register_module_forward_hook

from casper.nets import FeatureClassifier
from casper.types import Outputs


@dataclass(frozen=True)
class ForwardPasses:
    """A number of passes.

    Attributes:
        all: Through any network: the one that learns, or a teacher.
        with_gradient: Those among them that a backward pass can follow.
    """

    all: int = 0
    with_gradient: int = 0

    def __sub__(self, other: "ForwardPasses") -> "ForwardPasses":
        return ForwardPasses(self.all - other.all, self.with_gradient - other.with_gradient)


class PassCounter:
    """Counts the passes made so far; `made` is the count."""

    def __init__(self) -> None:
        self.made = ForwardPasses()

    def see(self, module: nn.Module, arguments: Any, outputs: Any) -> None:
        """Be told of a module's call; only that of a whole network is a pass."""
        if isinstance(module, FeatureClassifier):
            assert isinstance(outputs, Outputs)
            self.made = ForwardPasses(self.made.all + 1, self.made.with_gradient + outputs.logits.requires_grad)


@contextmanager
def counted_passes() -> Iterator[PassCounter]:
    """Count every pass of every network from here on, until the end of the block."""
    counter = PassCounter()
    hook = register_module_forward_hook(counter.see)
    try:
        yield counter
    finally:
        hook.remove()
