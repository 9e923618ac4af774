"""ResNet18 for small images."""

import torch.nn.functional as F
from torch import Tensor, nn

from casper.errors import require
from casper.nets.backbone import Backbone


class ResNet18(Backbone):
    """Eight residual blocks in four stages, 3x3 stem, no max-pool; for images of at least 9x9.

    The widths are width * (1, 2, 4, 8) and the strides 1, 2, 2, 2, as in the paper's experiments on 32x32 images, where
    the last stage has 4x4 values per channel, averaged into 8 * width features. It has 11,220,132 parameters with 100
    classes at width 64.

    Example:
        >>> import torch
        >>> from casper import ResNet18
        >>> features, maps = ResNet18((3, 32, 32), width=8)(torch.zeros(2, 3, 32, 32))
        >>> tuple(features.shape), tuple(maps[-1].shape)
        ((2, 64), (2, 64, 4, 4))
    """

    num_maps = 4

    def __init__(self, image_shape: tuple[int, int, int], *, width: int = 64) -> None:
        """Build the network.

        Args:
            image_shape: The shape (c, h, w) of an input.
            width: The number of filters of the stem and the first stage. Default 64: the paper's; 20 is common in
                online continual learning.
        """
        super().__init__()
        channels, height, length = image_shape
        require(min(height, length) >= 9, "image_shape", "at least 9 x 9 pixels", image_shape)
        require(width >= 1, "width", "at least 1", width)
        self.stem = nn.Sequential(nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width))
        widths = [width, *(width * 2**stage for stage in range(4))]
        self.stages = nn.ModuleList(
            nn.ModuleList(
                [_Block(widths[stage], widths[stage + 1], stride), _Block(widths[stage + 1], widths[stage + 1])]
            )
            for stage, stride in enumerate((1, 2, 2, 2))
        )
        self.dim = widths[-1]

    def forward(self, inputs: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Compute the spatial mean of the last stage, and the last sum of each stage before its ReLU."""
        signal = F.relu(self.stem(inputs))
        maps = []
        for stage in self.stages:
            first, second = stage.children()
            signal = F.relu(first(signal))
            maps.append(second(signal))
            signal = F.relu(maps[-1])
        return signal.mean(dim=(2, 3)), tuple(maps)


class _Block(nn.Module):
    """Two convolutions with a shortcut; returns the sum before its ReLU."""

    def __init__(self, inner: int, outer: int, stride: int = 1) -> None:
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(inner, outer, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(outer),
            nn.ReLU(),
            nn.Conv2d(outer, outer, 3, padding=1, bias=False),
            nn.BatchNorm2d(outer),
        )
        same = stride == 1 and inner == outer
        self.shortcut = (
            nn.Identity()
            if same
            else nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))
        )

    def forward(self, signal: Tensor) -> Tensor:
        total: Tensor = self.path(signal) + self.shortcut(signal)
        return total
