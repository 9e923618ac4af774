import pytest
import torch
from torch import nn

from casper.nets import ConvNet, EfficientNetB2, ResNet18, can_be_channels_last
from support import small_trainer


@pytest.mark.parametrize(
    ("convolution", "safe"),
    [
        (nn.Conv2d(8, 4, 1, 2), True),
        (nn.Conv2d(7, 4, 1, 2), False),
        (nn.Conv2d(4, 4, 1, (1, 2)), False),
        (nn.Conv2d(4, 4, 1, 1), True),
        (nn.Conv2d(4, 4, 3, 2), True),
        (nn.Conv2d(16, 16, 1, 2, groups=4), False),
    ],
)
def test_which_convolutions_are_safe(convolution, safe):
    assert can_be_channels_last(nn.Sequential(nn.ReLU(), convolution)) == safe


def test_the_networks_here():
    assert can_be_channels_last(ResNet18((3, 32, 32)))
    assert can_be_channels_last(ResNet18((3, 32, 32), width=8))
    assert not can_be_channels_last(ResNet18((3, 32, 32), width=4))
    assert can_be_channels_last(ConvNet((3, 32, 32), width=1))
    assert can_be_channels_last(EfficientNetB2((3, 84, 84)))


def test_the_trainer_asks():
    assert small_trainer("er-ace").net.backbone.stages[1][0].weight.is_contiguous(memory_format=torch.channels_last)
