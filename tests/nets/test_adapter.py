import math

import pytest
import torch
from torch import nn

from casper.errors import ParameterError
from casper.nets import Adapter, PolytopeHead


def test_two_hidden_layers_with_xavier_weights_and_zero_biases():
    torch.manual_seed(0)
    net = Adapter((1280,))
    weights = [layer.linear.weight for layer in net.layers]
    assert [tuple(weight.shape) for weight in weights] == [(512, 1280), (512, 512)]
    assert net.dim == 512
    for weight in weights:
        bound = math.sqrt(6 / sum(weight.shape))
        assert 0.99 * bound < weight.abs().max() <= bound
    assert not any(layer.linear.bias.any() for layer in net.layers)


def test_features_are_those_of_a_perceptron():
    torch.manual_seed(0)
    net, inputs = Adapter((6,), hidden=[5, 4]), torch.randn(3, 6)
    first, second = (layer.linear for layer in net.layers)
    features, maps = net(inputs)
    torch.testing.assert_close(features, second(first(inputs).relu()).relu())
    assert maps == ()


@pytest.mark.parametrize(("norm", "kind"), [("batch", nn.BatchNorm1d), ("layer", nn.LayerNorm), (None, nn.Identity)])
def test_a_norm_is_applied_before_the_activation(norm, kind):
    torch.manual_seed(0)
    net, inputs = Adapter((6,), hidden=[5], norm=norm), torch.randn(7, 6)
    (layer,) = net.layers
    assert isinstance(layer.norm, kind)
    torch.testing.assert_close(net(inputs)[0], layer.norm(layer.linear(inputs)).relu())


def test_the_residual_option_adds_the_input_where_sizes_are_equal():
    torch.manual_seed(0)
    net, inputs = Adapter((6,), hidden=[4, 4], residual=True), torch.randn(3, 6)
    first, second = (layer.linear for layer in net.layers)
    hidden = first(inputs).relu()
    torch.testing.assert_close(net(inputs)[0], hidden + second(hidden).relu())


def test_images_are_flattened():
    assert Adapter((3, 4, 4), hidden=[5])(torch.zeros(2, 3, 4, 4))[0].shape == (2, 5)


def test_a_linear_head_is_initialised_alike_and_no_other():
    torch.manual_seed(0)
    net, head, other = Adapter((6,), hidden=[8]), nn.Linear(8, 10), PolytopeHead(8, 4)
    before = other.linear.weight.clone()
    net.initialize_head(head)
    net.initialize_head(other)
    assert head.weight.abs().max() <= math.sqrt(6 / 18)
    assert head.weight.abs().max() > 1 / math.sqrt(8)  # the bound of PyTorch's default
    assert not head.bias.any()
    assert torch.equal(other.linear.weight, before)


@pytest.mark.parametrize(
    ("settings", "parameter"), [({"hidden": []}, "hidden"), ({"hidden": [0]}, "hidden"), ({"norm": "group"}, "norm")]
)
def test_errors(settings, parameter):
    with pytest.raises(ParameterError, match=f"`{parameter}` must be"):
        Adapter((6,), **settings)


def test_one_item_is_normalised_with_the_running_statistics():
    adapter = Adapter((3,), hidden=[4], norm="batch")
    item = torch.randn(1, 3)
    adapter(torch.randn(8, 3))
    statistics = adapter.layers[0].norm.running_mean.clone()
    found = adapter(item)[0]
    assert torch.equal(adapter.layers[0].norm.running_mean, statistics)
    found.sum().backward()
    assert adapter.layers[0].linear.weight.grad is not None
    assert torch.equal(adapter.eval()(item)[0], found)
