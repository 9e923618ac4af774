import math

import pytest
import torch
from torch import nn

from casper.errors import ParameterError
from casper.methods import ERACE, XDER
from casper.nets import MLP, PolytopeHead


def linear_layers(net):
    return [module for module in net.modules() if isinstance(module, nn.Linear)]


def test_two_hidden_layers_of_100():
    net = MLP((1, 28, 28))
    assert [tuple(layer.weight.shape) for layer in linear_layers(net)] == [(100, 784), (100, 100)]
    assert net.dim == 100


@pytest.mark.parametrize("hidden", [1, 7])
def test_hidden(hidden):
    net = MLP((3, 8, 8), hidden=hidden)
    assert [tuple(layer.weight.shape) for layer in linear_layers(net)] == [(hidden, 192), (hidden, hidden)]
    assert net.dim == hidden


def test_weights_are_xavier_uniform_and_biases_zero():
    torch.manual_seed(0)
    for layer in linear_layers(MLP((1, 28, 28))):
        rows, columns = layer.weight.shape
        bound = math.sqrt(6 / (rows + columns))
        assert 0.99 * bound < layer.weight.abs().max() <= bound
        assert layer.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)
        assert (layer.bias == 0).all()


def test_linear_head_is_initialized_like_the_hidden_layers():
    torch.manual_seed(0)
    head = ERACE().make_network(MLP((1, 28, 28)), 10, "fp32").head
    assert 0.99 * math.sqrt(6 / 110) < head.weight.abs().max() <= math.sqrt(6 / 110)
    assert (head.bias == 0).all()


def test_other_heads_stay_as_the_method_creates_them():
    net = MLP((1, 28, 28))
    torch.manual_seed(0)
    expected = PolytopeHead(100, 10).state_dict()
    torch.manual_seed(0)
    head = XDER().make_network(net, 10, "fp32").head
    assert all(torch.equal(value, expected[name]) for name, value in head.state_dict().items())


def test_features_are_the_second_hidden_layer():
    net = MLP((1, 8, 8))
    images = torch.randn(5, 1, 8, 8)
    first, second = linear_layers(net)
    hidden = (images.reshape(5, 64) @ first.weight.T + first.bias).clamp(min=0)
    expected = (hidden @ second.weight.T + second.bias).clamp(min=0)
    features, maps = net(images)
    torch.testing.assert_close(features, expected)
    assert maps == ()


def test_no_batch_norm():
    net = MLP((1, 8, 8))
    assert not any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in net.modules())
    assert list(net.buffers()) == []


def test_hidden_is_positive():
    with pytest.raises(ParameterError, match=r"`hidden` must be at least 1, but got 0"):
        MLP((1, 8, 8), hidden=0)
