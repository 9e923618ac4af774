"""EfficientNet-B2 and EfficientNet-Lite0, with random initialisation."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from casper.errors import require
from casper.nets.backbone import Backbone

# The stages of B0: expansion, kernel, stride, filters, blocks.
_STAGES = (
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)
_STEM, _HEAD = 32, 1280
SMALLEST_SIDE = 33  # pixels: smaller images leave nothing to pool


@dataclass(frozen=True)
class _Kind:
    """What distinguishes the members of the family.

    Attributes:
        width: The factor on the number of filters of B0.
        depth: The factor on the number of blocks of B0.
        activation: Creates the activation.
        excites: Whether blocks have squeeze-and-excitation.
    """

    width: float
    depth: float
    activation: Callable[[], nn.Module]
    excites: bool

    def rounded(self, filters: int) -> int:
        """Scale a number of filters by the width, and round it to a multiple of 8 that is at most 10 % smaller."""
        wide = filters * self.width
        rounded = max(8, int(wide + 4) // 8 * 8)
        return rounded + 8 if rounded < 0.9 * wide else rounded

    def repeated(self, blocks: int) -> int:
        """Scale a number of blocks by the depth, and round it up."""
        return math.ceil(self.depth * blocks)


_B2 = _Kind(width=1.1, depth=1.2, activation=nn.SiLU, excites=True)
_LITE0 = _Kind(width=1.0, depth=1.0, activation=nn.ReLU6, excites=False)


class _EfficientNet(Backbone):
    """Inverted-residual blocks between a stem and a head, both convolutions with stride 2 and 1."""

    num_maps = 4

    def __init__(
        self,
        kind: _Kind,
        image_shape: tuple[int, int, int],
        dropout: float,
        drop_connect: float,
        map_blocks: Sequence[int],
    ) -> None:
        super().__init__()
        require(0 <= dropout < 1, "dropout", "in [0, 1)", dropout)
        require(0 <= drop_connect < 1, "drop_connect", "in [0, 1)", drop_connect)
        channels, height, length = image_shape
        wanted = f"at least {SMALLEST_SIDE} x {SMALLEST_SIDE} pixels"
        require(min(height, length) >= SMALLEST_SIDE, "image_shape", wanted, image_shape)
        size = (height, length)
        stem = kind.rounded(_STEM)
        self.stem = nn.Sequential(_convolution(channels, stem, 3, 2, size), _norm(stem))
        size = _halved(size)
        total = sum(kind.repeated(blocks) for *_, blocks in _STAGES)
        built: list[nn.Module] = []
        inner = stem
        for expansion, kernel, stride, filters, blocks in _STAGES:
            outer = kind.rounded(filters)
            for place in range(kind.repeated(blocks)):
                step = stride if place == 0 else 1
                drop = drop_connect * len(built) / total
                built.append(_Block(kind, inner, outer, expansion, kernel, step, size, drop))
                size = _halved(size) if step == 2 else size
                inner = outer
        self.blocks = nn.ModuleList(built)
        valid = len(set(map_blocks)) == len(map_blocks) == 3 and all(0 <= block < total for block in map_blocks)
        require(valid, "map_blocks", f"three different block indices in [0, {total - 1}]", list(map_blocks))
        self.map_blocks = tuple(map_blocks)
        self.dim = kind.rounded(_HEAD)
        self.head = nn.Sequential(nn.Conv2d(inner, self.dim, 1, bias=False), _norm(self.dim))
        self.dropout = dropout
        self.activation = kind.activation()

    def forward(self, inputs: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Compute the pooled output of the head's convolution, before dropout, and the maps."""
        signal = self.activation(self.stem(inputs))
        maps = {}
        for number, block in enumerate(self.blocks):
            signal = block(signal)
            if number in self.map_blocks:
                maps[number] = signal
        last = self.head(signal)
        chosen = [maps[number] for number in self.map_blocks]
        return self.activation(last).mean(dim=(2, 3)), (*chosen, last)


class EfficientNetB2(_EfficientNet):
    """23 inverted-residual blocks with squeeze-and-excitation and swish; 1408 features.

    It has 9,109,994 parameters with 1,000 classes, 7,841,894 with 100. The constants are those of the reference
    implementation: BatchNorm with momentum 0.01 and eps 1e-3, dropout 0.3 before the head, drop-connect that grows with
    the block up to 0.2. The padding is TensorFlow's "same", computed for the size of the input. (The reference computes
    it once, for 260 pixels; at 84 pixels the only difference is the padding of the stride-2 block of the sixth stage:
    1 and 2 here, 2 and 2 in the reference.) Weights have PyTorch's default initialisation.

    The maps are the outputs of three blocks, by default the last blocks at strides 4, 8 and 16, which end in a
    BatchNorm without an activation, and the head's convolution after BatchNorm and before swish. The features are the
    pooled swish of the latter.

    Example:
        >>> from casper import EfficientNetB2
        >>> backbone = EfficientNetB2((3, 84, 84))
        >>> backbone.dim, backbone.num_maps
        (1408, 4)
    """

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        *,
        dropout: float = 0.3,
        drop_connect: float = 0.2,
        map_blocks: Sequence[int] = (4, 7, 15),
    ) -> None:
        """Build the network.

        Args:
            image_shape: The shape (c, h, w) of an input.
            dropout: The fraction of features dropped before the head. Default 0.3: the reference's for B2.
            drop_connect: The fraction of samples whose residual path is dropped in the last block; block i of 23 drops
                i/23 of it. Default 0.2: the reference's.
            map_blocks: The indices, from 0, of the blocks whose outputs are maps.
        """
        super().__init__(_B2, image_shape, dropout, drop_connect, map_blocks)


class EfficientNetLite0(_EfficientNet):
    """16 inverted-residual blocks with ReLU6 and without squeeze-and-excitation; 1280 features.

    It has 4,652,008 parameters with 1,000 classes. BatchNorm, padding and initialisation are those of `EfficientNetB2`.
    The maps are the outputs of three blocks, by default the last blocks at strides 4, 8 and 16, and the head's
    convolution after BatchNorm and before ReLU6.

    Example:
        >>> from casper import EfficientNetLite0
        >>> backbone = EfficientNetLite0((3, 112, 112))
        >>> backbone.dim, sum(parameter.numel() for parameter in backbone.parameters()) + 1281 * 1000
        (1280, 4652008)
    """

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        *,
        dropout: float = 0.2,
        drop_connect: float = 0.2,
        map_blocks: Sequence[int] = (2, 4, 10),
    ) -> None:
        """Build the network.

        Args:
            image_shape: The shape (c, h, w) of an input.
            dropout: The fraction of features dropped before the head. Default 0.2: the reference's for Lite0.
            drop_connect: The fraction of samples whose residual path is dropped in the last block; block i of 16 drops
                i/16 of it. Default 0.2: the reference's.
            map_blocks: The indices, from 0, of the blocks whose outputs are maps.
        """
        super().__init__(_LITE0, image_shape, dropout, drop_connect, map_blocks)


class _Block(nn.Module):
    """Expand, filter each channel, maybe squeeze and excite, project; with a shortcut if the shapes are equal."""

    def __init__(
        self,
        kind: _Kind,
        inner: int,
        outer: int,
        expansion: int,
        kernel: int,
        stride: int,
        size: tuple[int, int],
        drop: float,
    ) -> None:
        super().__init__()
        wide = inner * expansion
        self.expand = (
            nn.Sequential(nn.Conv2d(inner, wide, 1, bias=False), _norm(wide), kind.activation())
            if expansion > 1
            else nn.Identity()
        )
        depthwise = _convolution(wide, wide, kernel, stride, size, groups=wide)
        self.filter = nn.Sequential(depthwise, _norm(wide), kind.activation())
        if kind.excites:
            less = max(1, inner // 4)
            self.excite = nn.Sequential(
                nn.Conv2d(wide, less, 1), kind.activation(), nn.Conv2d(less, wide, 1), nn.Sigmoid()
            )
        self.excites = kind.excites
        self.project = nn.Sequential(nn.Conv2d(wide, outer, 1, bias=False), _norm(outer))
        self.residual = stride == 1 and inner == outer
        self.drop = drop

    def forward(self, signal: Tensor) -> Tensor:
        inside = self.filter(self.expand(signal))
        if self.excites:
            inside = inside * self.excite(inside.mean(dim=(2, 3), keepdim=True))
        projected: Tensor = self.project(inside)
        return signal + drop_connect(projected, self.drop, self.training) if self.residual else projected


def drop_connect(signal: Tensor, share: float, training: bool) -> Tensor:
    """Zero whole samples with probability `share` and scale up the others; only in training."""
    if not training or share == 0:
        return signal
    survives = torch.rand(len(signal), 1, 1, 1, device=signal.device) >= share
    return signal * survives.to(signal.dtype) / (1 - share)


def _norm(filters: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(filters, eps=1e-3, momentum=0.01)


def _convolution(
    inner: int, outer: int, kernel: int, stride: int, size: tuple[int, int], groups: int = 1
) -> nn.Sequential:
    """Build a convolution with TensorFlow's "same" padding for a known input size: odd pixels go right and below."""
    totals = [max((math.ceil(pixels / stride) - 1) * stride + kernel - pixels, 0) for pixels in size]
    (top, bottom), (left, right) = ((total // 2, total - total // 2) for total in totals)
    convolution = nn.Conv2d(inner, outer, kernel, stride, bias=False, groups=groups)
    if top == bottom and left == right:
        convolution.padding = (top, left)
        return nn.Sequential(convolution)
    return nn.Sequential(nn.ZeroPad2d((left, right, top, bottom)), convolution)


def _halved(size: tuple[int, int]) -> tuple[int, int]:
    return (-(-size[0] // 2), -(-size[1] // 2))
