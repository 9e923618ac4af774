"""A multi-layer perceptron on feature vectors, to be trained behind a frozen trunk."""

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

import torch.nn.functional as F
from torch import Tensor, nn

from casper.errors import require
from casper.nets.backbone import Backbone
from casper.nets.mlp import initialize_linear

Norm = Literal["batch", "layer"]


class Adapter(Backbone):
    """Hidden layers with ReLU on a feature vector; the features are the output of the last one.

    Xavier-uniform weights and zero biases, also of a linear head. It has no maps and, by default, no BatchNorm.

    Example:
        >>> import torch
        >>> from casper import Adapter
        >>> features, maps = Adapter((1280,), hidden=[256, 64], norm="layer")(torch.zeros(2, 1280))
        >>> tuple(features.shape), maps
        ((2, 64), ())
    """

    takes_vectors: ClassVar[bool] = True

    def __init__(
        self,
        image_shape: tuple[int, ...],
        *,
        hidden: Sequence[int] = (512, 512),
        norm: Norm | None = None,
        residual: bool = False,
    ) -> None:
        """Build the network.

        Args:
            image_shape: The shape (d,) of an input, or (c, h, w), which is flattened.
            hidden: The size of each hidden layer.
            norm: `batch` or `layer`: a BatchNorm or LayerNorm before every ReLU. A batch of one item, which has no
                variance, is normalised with the running statistics. Default: none.
            residual: Whether a hidden layer adds its input to its output, where both have the same size.
        """
        super().__init__()
        require(len(hidden) > 0 and min(hidden) >= 1, "hidden", "at least one size, each at least 1", list(hidden))
        require(norm in (None, "batch", "layer"), "norm", "'batch', 'layer' or None", norm)
        sizes = [math.prod(image_shape), *hidden]
        self.dim = sizes[-1]
        self.layers = nn.ModuleList(
            _Hidden(inner, outer, norm, residual) for inner, outer in zip(sizes, hidden, strict=False)
        )

    def forward(self, inputs: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Compute the features; there are no maps."""
        signal = inputs.flatten(1)
        for layer in self.layers:
            signal = layer(signal)
        return signal, ()

    def initialize_head(self, head: nn.Module) -> None:
        """Initialise a linear head like the hidden layers; leave other heads unchanged."""
        initialize_linear(head)


class _Hidden(nn.Module):
    def __init__(self, inner: int, outer: int, norm: Norm | None, residual: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(inner, outer)
        initialize_linear(self.linear)
        kinds = {"batch": _BatchNorm, "layer": nn.LayerNorm}
        self.norm = nn.Identity() if norm is None else kinds[norm](outer)
        self.residual = residual and inner == outer

    def forward(self, signal: Tensor) -> Tensor:
        found: Tensor = self.norm(self.linear(signal)).relu()
        return signal + found if self.residual else found


class _BatchNorm(nn.BatchNorm1d):
    def forward(self, inputs: Tensor) -> Tensor:
        if len(inputs) > 1 or not self.training:
            return super().forward(inputs)
        return F.batch_norm(inputs, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
