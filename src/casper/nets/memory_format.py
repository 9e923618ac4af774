"""Channels-last weights, where they are safe."""

from torch import nn


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
