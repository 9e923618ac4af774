"""The base class of backbones."""

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor, nn

from casper._repr import ShowsSettings


class Backbone(ShowsSettings, nn.Module, ABC):
    """Base class of backbones, which compute features and stage maps from inputs.

    A backbone is built as `SomeBackbone(image_shape, **hyper_parameters)` with image_shape (c, h, w), or (d,) if the
    inputs are the feature vectors of a trunk. Weights have PyTorch's default initialisation unless the docstring of the
    backbone states otherwise.

    Attributes:
        dim: The number of features.
        num_maps: The number of stage maps. If 0, methods that need maps raise an error.
        takes_vectors: Whether its inputs may be feature vectors of shape (n, d).
        dropout: The fraction of features dropped, in training, between backbone and head.

    Example:
        >>> import torch
        >>> from casper import Backbone
        >>> class Pooled(Backbone):
        ...     def __init__(self, image_shape):
        ...         super().__init__()
        ...         self.dim = image_shape[0]
        ...     def forward(self, inputs):
        ...         return inputs.mean(dim=(2, 3)), ()
        >>> features, maps = Pooled((3, 8, 8))(torch.zeros(2, 3, 8, 8))
        >>> tuple(features.shape)
        (2, 3)
    """

    dim: int
    num_maps: ClassVar[int] = 0
    takes_vectors: ClassVar[bool] = False
    dropout: float = 0.0

    @abstractmethod
    def forward(self, inputs: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Compute features of shape (n, dim), after the last ReLU, and the stage maps, each before its last ReLU."""

    def initialize_head(self, head: nn.Module) -> None:
        """Initialise the head that a method adds to this backbone; by default it stays as the method created it."""
