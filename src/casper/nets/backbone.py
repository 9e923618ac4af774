"""What a backbone is."""

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor, nn

from casper._repr import ShowsSettings


class Backbone(ShowsSettings, nn.Module, ABC):
    """Turns inputs into features, and the maps of its stages on the way.

    A backbone is built as `SomeBackbone(image_shape, **hyper_parameters)` with image_shape (c, h, w), initialised by
    PyTorch's defaults unless its own docstring says otherwise.

    Attributes:
        dim: The number of features.
        num_maps: How many maps it gives; 0: none, and methods that need them refuse it.
        dropout: The share of features dropped, in training, between backbone and head.
    """

    dim: int
    num_maps: ClassVar[int] = 0
    dropout: float = 0.0

    @abstractmethod
    def forward(self, inputs: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Compute features of shape (n, dim), after the last ReLU, and the stages' maps before their last ReLU."""
