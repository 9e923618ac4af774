"""A multi-layer perceptron without BatchNorm."""

import math
from typing import ClassVar

from torch import Tensor, nn

from casper.errors import require
from casper.nets.backbone import Backbone


class MLP(Backbone):
    """Two hidden layers with ReLU on the flattened input; the features are the output of the second layer.

    Xavier-uniform weights and zero biases, also of a linear head, as in the Rotated MNIST setup of "Dark Experience for
    General Continual Learning" (NeurIPS 2020). It has no maps.

    Example:
        >>> import torch
        >>> from casper import MLP
        >>> features, maps = MLP((1, 8, 8), hidden=32)(torch.zeros(2, 1, 8, 8))
        >>> tuple(features.shape), maps
        ((2, 32), ())
    """

    takes_vectors: ClassVar[bool] = True

    def __init__(self, image_shape: tuple[int, ...], *, hidden: int = 100) -> None:
        """Build the network.

        Args:
            image_shape: The shape of an input: (c, h, w), or (d,) of a feature vector.
            hidden: The size of both hidden layers. Default 100: the setup named above.
        """
        super().__init__()
        require(hidden >= 1, "hidden", "at least 1", hidden)
        self.dim = hidden
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(math.prod(image_shape), hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        for layer in self.layers:
            initialize_linear(layer)

    def forward(self, inputs: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Compute the features; there are no maps."""
        return self.layers(inputs), ()

    def initialize_head(self, head: nn.Module) -> None:
        """Initialise a linear head like the hidden layers; leave other heads unchanged."""
        initialize_linear(head)


def initialize_linear(layer: nn.Module) -> None:
    """Set Xavier-uniform weights and zero biases in a linear layer; leave other layers unchanged."""
    if isinstance(layer, nn.Linear):
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)
