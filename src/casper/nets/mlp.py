"""A multi-layer perceptron without BatchNorm."""

import math

from torch import Tensor, nn

from casper.errors import require
from casper.nets.backbone import Backbone


class MLP(Backbone):
    """Two hidden layers with ReLU on the flattened image; the features are the second one.

    Xavier-uniform weights and zero biases, as in the Rotated MNIST set-up of "Dark Experience for General Continual
    Learning" (NeurIPS 2020).
    """

    def __init__(self, image_shape: tuple[int, int, int], *, hidden: int = 100) -> None:
        """Build the network.

        Args:
            image_shape: The shape (c, h, w) of an input.
            hidden: The size of both hidden layers. Default 100: the set-up named above.
        """
        super().__init__()
        require(hidden >= 1, "hidden", "at least 1", hidden)
        self.dim = hidden
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(math.prod(image_shape), hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)

    def forward(self, inputs: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Compute the features; there are no maps."""
        return self.layers(inputs), ()
