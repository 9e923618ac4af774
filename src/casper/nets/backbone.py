"""What a backbone is."""

from abc import ABC, abstractmethod

from torch import Tensor, nn


class Backbone(nn.Module, ABC):
    """Turns inputs into features, and the maps of its stages on the way.

    A backbone is built as `SomeBackbone(image_shape, **hyper_parameters)` with image_shape (c, h, w), initialised by
    PyTorch's defaults unless its own docstring says otherwise.

    Attributes:
        dim: The number of features.
    """

    dim: int

    @abstractmethod
    def forward(self, inputs: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Compute features of shape (n, dim), after the last ReLU, and the stages' maps before their last ReLU."""
