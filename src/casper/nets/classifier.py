"""A backbone and a head as one network."""

from collections.abc import Callable
from copy import deepcopy
from typing import Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from casper._repr import ShowsSettings
from casper.errors import NonFiniteLossError, require, smaller_rate_advice
from casper.nets.backbone import Backbone
from casper.spectral import all_finite
from casper.types import Outputs

Precision = Literal["fp32", "bf16"]


class FeatureClassifier(ShowsSettings, nn.Module):
    """A backbone and a head: `net(inputs)` returns the features, logits and stage maps of one forward pass.

    Autocast covers only this pass: with `precision="bf16"`, matrix products and convolutions run in bfloat16. Features
    and logits are returned in float32; maps are not converted.

    Example:
        >>> import torch
        >>> from casper import MLP, FeatureClassifier
        >>> net = FeatureClassifier(MLP((1, 8, 8)), torch.nn.Linear(100, 10))
        >>> outputs = net(torch.zeros(2, 1, 8, 8))
        >>> tuple(outputs.features.shape), tuple(outputs.logits.shape)
        ((2, 100), (2, 10))
    """

    __call__: Callable[..., Outputs]  # nn.Module calls `forward` through it; for type checkers

    def __init__(
        self, backbone: Backbone, head: nn.Module, *, precision: Precision = "fp32", dropout: bool = True
    ) -> None:
        """Join a backbone and a head.

        Args:
            backbone: Computes features and maps from inputs.
            head: Computes logits of shape (n, N), or other outputs that a method defines, from features of shape
                (n, backbone.dim).
            precision: `"fp32"` or `"bf16"`.
            dropout: Whether to apply the backbone's dropout, if any, to the input of the head.
        """
        super().__init__()
        require(precision in ("fp32", "bf16"), "precision", "'fp32' or 'bf16'", precision)
        self.backbone = backbone
        self.dropout = nn.Dropout(backbone.dropout if dropout else 0.0)  # the returned features have no dropout
        self.head = head
        self.precision = precision

    def forward(self, inputs: Tensor) -> Outputs:
        """Run one forward pass over inputs of shape (n, c, h, w)."""
        with torch.autocast(inputs.device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            features, maps = self.backbone(inputs)
            logits = self.head(self.dropout(features))
        return Outputs(_widened(features), _widened(logits), maps)


def _widened(tensor: Tensor) -> Tensor:
    """Convert half precision to float32; leave float32 and float64 unchanged."""
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor


def snapshot(net: FeatureClassifier) -> FeatureClassifier:
    """Copy a network, in evaluation mode and without gradients, as a teacher for later tasks.

    Example:
        >>> import torch
        >>> from casper.nets import MLP, FeatureClassifier, snapshot
        >>> teacher = snapshot(FeatureClassifier(MLP((1, 8, 8)), torch.nn.Linear(100, 10)))
        >>> teacher.training, teacher.head.weight.requires_grad
        (False, False)
    """
    return deepcopy(net).eval().requires_grad_(False)


def can_be_channels_last(net: nn.Module) -> bool:
    """Return whether the weights of a network may be stored channels-last.

    The backward pass of a channels-last 1x1 convolution with a stride and fewer than 8 input channels writes outside of
    its memory (observed with PyTorch 2.13 on a CPU with AVX2), so such networks are not converted.

    Example:
        >>> import torch
        >>> from casper.nets import can_be_channels_last
        >>> can_be_channels_last(torch.nn.Conv2d(3, 8, 3)), can_be_channels_last(torch.nn.Conv2d(3, 8, 1, stride=2))
        (True, False)
    """
    return not any(
        module.kernel_size == (1, 1) and max(module.stride) > 1 and module.in_channels // module.groups < 8
        for module in net.modules()
        if isinstance(module, nn.Conv2d)
    )


def check_weights(net: nn.Module, where: str, optimizer: Optimizer) -> None:
    """Raise `NonFiniteLossError` if weights or running statistics are infinite or NaN after training.

    Example:
        >>> import torch
        >>> from casper.nets import check_weights
        >>> net = torch.nn.PReLU(init=torch.nan)
        >>> check_weights(net, "at the end of task 1", torch.optim.SGD(net.parameters(), lr=0.5))
        Traceback (most recent call last):
            ...
        casper.errors.NonFiniteLossError: weight of the network is not finite at the end of task 1; ...
    """
    values = {name: value for name, value in net.state_dict().items() if value.is_floating_point()}
    bad = [name for name, value in values.items() if not all_finite(value)]
    if bad:
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        advice = smaller_rate_advice(optimizer.param_groups[0]["lr"])
        raise NonFiniteLossError(f"{bad[0]}{more} of the network is not finite {where}; {advice}")
