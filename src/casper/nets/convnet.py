"""A small convolutional network with BatchNorm."""

import torch.nn.functional as F
from torch import Tensor, nn

from casper.errors import require
from casper.nets.backbone import Backbone


class ConvNet(Backbone):
    """Four stages of convolution, BatchNorm and ReLU, for images of at least 8x8: the default on the bundled streams.

    Stage s has width * 2^s filters of 3x3. Stages 1 to 3 halve the resolution as long as at least 2x2 values remain per
    channel, so that BatchNorm can train on a batch of one: stages 1 and 2 from 8x8, all three from 9x9.

    Example:
        >>> import torch
        >>> from casper import ConvNet
        >>> features, maps = ConvNet((1, 8, 8))(torch.zeros(2, 1, 8, 8))
        >>> tuple(features.shape), len(maps)
        ((2, 128), 4)
    """

    num_maps = 4

    def __init__(self, image_shape: tuple[int, int, int], *, width: int = 16) -> None:
        """Build the network.

        Args:
            image_shape: The shape (c, h, w) of an input, h and w at least 8.
            width: The number of filters of the first stage. Default 16, chosen here: the forward and backward pass of
                32 images of 8x8 takes about 5 ms on one core.
        """
        super().__init__()
        channels, height, length = image_shape
        require(min(height, length) >= 8, "image_shape", "at least 8 x 8 pixels", image_shape)
        require(width >= 1, "width", "at least 1", width)
        widths = [channels, *(width * 2**stage for stage in range(4))]
        self.dim = widths[-1]
        self.stages = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(widths[stage], widths[stage + 1], 3, stride, padding=1, bias=False),
                nn.BatchNorm2d(widths[stage + 1]),
            )
            for stage, stride in enumerate((1, 2, 2, 2 if min(height, length) > 8 else 1))
        )

    def forward(self, inputs: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Compute the spatial mean of the last stage, and the maps of the four stages before their ReLU."""
        maps = []
        signal = inputs
        for stage in self.stages:
            signal = stage(signal)
            maps.append(signal)
            signal = F.relu(signal)
        return signal.mean(dim=(2, 3)), tuple(maps)
