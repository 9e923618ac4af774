import pytest
import torch
import torch.nn.functional as F
from torch import nn

from casper.errors import ParameterError
from casper.nets import ConvNet


def inputs(shape, number=4):
    return torch.randn(number, *shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("size", "sizes"), [(8, [8, 4, 2, 2]), (9, [9, 5, 3, 2]), (16, [16, 8, 4, 2]), (32, [32, 16, 8, 4])]
)
@pytest.mark.parametrize("channels", [1, 3])
def test_four_maps_of_doubling_width(size, sizes, channels):
    _, maps = ConvNet((channels, size, size), width=16)(inputs((channels, size, size)))
    assert [tuple(stage.shape) for stage in maps] == [
        (4, filters, side, side) for filters, side in zip([16, 32, 64, 128], sizes, strict=True)
    ]


def test_images_need_not_be_square():
    _, maps = ConvNet((1, 8, 12))(inputs((1, 8, 12)))
    assert maps[-1].shape[2:] == (2, 3)


@pytest.mark.parametrize("width", [1, 4, 10])
def test_width(width):
    net = ConvNet((1, 8, 8), width=width)
    features, maps = net(inputs((1, 8, 8)))
    assert net.dim == 8 * width == features.shape[1]
    assert maps[0].shape[1] == width


def test_features_are_the_last_map_after_relu_averaged_over_space():
    features, maps = ConvNet((3, 9, 9))(inputs((3, 9, 9)))
    torch.testing.assert_close(features, maps[-1].clamp(min=0).sum(dim=(2, 3)) / 4)


def test_each_map_is_the_next_stage_of_the_one_before_after_relu():
    net = ConvNet((1, 8, 8)).eval()
    images = inputs((1, 8, 8))
    _, maps = net(images)
    signal = images
    for stage, expected in zip(net.stages, maps, strict=True):
        signal = stage(signal)
        torch.testing.assert_close(signal, expected)
        signal = F.relu(signal)


def test_maps_are_normalised_over_the_batch():
    _, maps = ConvNet((1, 8, 8)).train()(inputs((1, 8, 8), 16))
    for stage in maps:
        torch.testing.assert_close(stage.mean(dim=(0, 2, 3)), torch.zeros(stage.shape[1]), atol=1e-4, rtol=0)


@pytest.mark.parametrize("stage", range(4))
def test_gradients_flow_from_every_map(stage):
    net = ConvNet((1, 8, 8))
    net(inputs((1, 8, 8)))[1][stage].pow(3).sum().backward()
    reached = [layers[0].weight.grad is not None for layers in net.stages]
    assert reached == [place <= stage for place in range(4)]


def test_convolutions_have_no_bias_as_batch_norm_has_one():
    net = ConvNet((1, 8, 8))
    assert all(module.bias is None for module in net.modules() if isinstance(module, nn.Conv2d))
    assert sum(isinstance(module, nn.BatchNorm2d) for module in net.modules()) == 4
    assert not any(isinstance(module, nn.Linear) for module in net.modules())


@pytest.mark.parametrize("shape", [(1, 7, 8), (1, 8, 7), (3, 4, 4)])
def test_small_images_are_refused(shape):
    with pytest.raises(ParameterError, match="`image_shape` must be at least 8 x 8 pixels"):
        ConvNet(shape)


@pytest.mark.parametrize("width", [0, -1])
def test_width_is_positive(width):
    with pytest.raises(ParameterError, match="`width` must be at least 1"):
        ConvNet((1, 8, 8), width=width)
