"""Backbone and head as one network."""

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
    """One call, `net(inputs)`, gives features, logits and stage maps of one forward pass.

    The pass is the only thing that autocast ever covers: under `precision="bf16"` matrix products and convolutions run
    in bfloat16, and features and logits leave the network in float32 again; maps stay as they are.
    """

    __call__: Callable[..., Outputs]  # what nn.Module calls `forward` through; for type checkers

    def __init__(
        self, backbone: Backbone, head: nn.Module, *, precision: Precision = "fp32", dropout: bool = True
    ) -> None:
        """Join a backbone and a head.

        Args:
            backbone: Inputs to features and maps.
            head: Features of shape (n, backbone.dim) to logits of shape (n, N), or to what else a method has it give.
            precision: `"fp32"` or `"bf16"`.
            dropout: Whether the backbone's dropout, if it has any, acts on what the head sees.
        """
        super().__init__()
        require(precision in ("fp32", "bf16"), "precision", "'fp32' or 'bf16'", precision)
        self.backbone = backbone
        self.dropout = nn.Dropout(backbone.dropout if dropout else 0.0)  # what leaves as features has none
        self.head = head
        self.precision = precision

    def forward(self, inputs: Tensor) -> Outputs:
        """Run one pass over inputs of shape (n, c, h, w)."""
        with torch.autocast(inputs.device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            features, maps = self.backbone(inputs)
            logits = self.head(self.dropout(features))
        return Outputs(_widened(features), _widened(logits), maps)


def _widened(tensor: Tensor) -> Tensor:
    """Leave float32 and float64 alone; bring half precision to float32."""
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor


def snapshot(net: FeatureClassifier) -> FeatureClassifier:
    """Copy a network as it is, in evaluation mode and without gradients: a teacher for what comes after."""
    return deepcopy(net).eval().requires_grad_(False)


def can_be_channels_last(net: nn.Module) -> bool:
    """Tell whether a network may have its weights channels-last.

    A 1x1 convolution with a stride and fewer than 8 input channels overwrites memory that is not its own in its
    backward pass (seen with PyTorch 2.13 on a CPU with AVX2); such a network stays as it is.
    """
    return not any(
        module.kernel_size == (1, 1) and max(module.stride) > 1 and module.in_channels // module.groups < 8
        for module in net.modules()
        if isinstance(module, nn.Conv2d)
    )


def check_weights(net: nn.Module, where: str, optimizer: Optimizer) -> None:
    """Raise `NonFiniteLossError` if training has left weights or running statistics that are no numbers."""
    values = {name: value for name, value in net.state_dict().items() if value.is_floating_point()}
    bad = [name for name, value in values.items() if not all_finite(value)]
    if bad:
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        advice = smaller_rate_advice(optimizer.param_groups[0]["lr"])
        raise NonFiniteLossError(f"{bad[0]}{more} of the network is not finite {where}; {advice}")
