import pytest
import torch
from torch import nn
from torch.optim import SGD

from casper.errors import NonFiniteLossError
from casper.nets import (
    MLP,
    ConvNet,
    EfficientNetB2,
    FeatureClassifier,
    ResNet18,
    can_be_channels_last,
    check_weights,
    snapshot,
)
from casper.types import Outputs
from support import small_trainer


def classifier(backbone=ConvNet, precision="fp32", seed=0):
    torch.manual_seed(seed)
    made = backbone((1, 8, 8))
    return FeatureClassifier(made, nn.Linear(made.dim, 10), precision=precision)


def inputs(number=4):
    return torch.randn(number, 1, 8, 8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("backbone", "num_maps"), [(ConvNet, 4), (MLP, 0)])
def test_one_pass_gives_features_logits_and_maps(backbone, num_maps):
    net = classifier(backbone).eval()
    passes = []
    net.backbone.register_forward_hook(lambda *_: passes.append(1))
    outputs = net(inputs())
    assert isinstance(outputs, Outputs)
    assert len(passes) == 1
    assert outputs.features.shape == (4, net.backbone.dim)
    assert outputs.logits.shape == (4, 10)
    assert len(outputs.maps) == num_maps


@pytest.mark.parametrize("backbone", [ConvNet, MLP])
def test_logits_are_the_head_of_the_features(backbone):
    net = classifier(backbone)
    outputs = net(inputs())
    torch.testing.assert_close(outputs.logits, net.head(outputs.features))
    features, maps = classifier(backbone).backbone(inputs())
    assert torch.equal(outputs.features, features)
    assert all(torch.equal(one, other) for one, other in zip(outputs.maps, maps, strict=True))


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("backbone", [ConvNet, MLP])
def test_gradients_reach_all_parameters(backbone, precision):
    net = classifier(backbone, precision)
    nn.functional.cross_entropy(net(inputs(8)).logits, torch.arange(8)).backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.dtype == torch.float32
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("backbone", [ConvNet, MLP])
def test_bf16_leaves_the_network_as_float32(backbone):
    net = classifier(backbone, "bf16")
    outputs = net(inputs())
    assert outputs.features.dtype == torch.float32
    assert outputs.logits.dtype == torch.float32
    assert all(parameter.dtype == torch.float32 for parameter in net.parameters())
    assert all(buffer.dtype in (torch.float32, torch.int64) for buffer in net.buffers())


@pytest.mark.parametrize("backbone", [ConvNet, MLP])
def test_bf16_computes_in_bfloat16(backbone):
    computed = []
    net = classifier(backbone, "bf16")
    net.head.register_forward_hook(lambda _, given, result: computed.append(result.dtype))
    rounded, exact = net(inputs()), classifier(backbone)(inputs())
    assert computed == [torch.bfloat16]
    assert not torch.equal(rounded.logits, exact.logits)
    torch.testing.assert_close(rounded.logits, exact.logits, atol=0.05, rtol=0.05)
    torch.testing.assert_close(rounded.features, exact.features, atol=0.05, rtol=0.05)


def test_autocast_covers_the_pass_only():
    seen = []
    net = classifier(MLP, "bf16")
    net.head.register_forward_hook(lambda *_: seen.append(torch.is_autocast_enabled("cpu")))
    net(inputs())
    assert seen == [True]
    assert not torch.is_autocast_enabled("cpu")


def test_fp32_computes_without_autocast():
    seen = []
    net = classifier(MLP)
    net.head.register_forward_hook(lambda *_: seen.append(torch.is_autocast_enabled("cpu")))
    net(inputs())
    assert seen == [False]


def test_float64_stays_float64():
    outputs = classifier().double()(inputs().double())
    assert outputs.features.dtype == outputs.logits.dtype == torch.float64


def test_a_snapshot_stays_as_it_was_and_learns_nothing():
    net = FeatureClassifier(ConvNet((1, 8, 8), width=2), nn.Linear(16, 3))
    old = snapshot(net)
    inputs = torch.randn(4, 1, 8, 8)
    before = old(inputs).logits
    assert not old.training
    assert net.training
    assert not any(parameter.requires_grad for parameter in old.parameters())
    assert all(parameter.requires_grad for parameter in net.parameters())
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += 1
    net(inputs)
    assert torch.equal(old(inputs).logits, before)


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


def test_the_trainer_stores_weights_channels_last():
    assert small_trainer("er-ace").net.backbone.stages[1][0].weight.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_weights_and_statistics_are_checked_one_and_all(value):
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    optimizer = SGD(net.parameters(), lr=0.25)
    check_weights(net, "now", optimizer)
    net[1].running_var[1] = value
    pattern = r"^1\.running_var of the network is not finite now; the learning rate is 0\.25, try a smaller one$"
    with pytest.raises(NonFiniteLossError, match=pattern):
        check_weights(net, "now", optimizer)
    with torch.no_grad():
        net[0].weight[0, 0] = value
    with pytest.raises(NonFiniteLossError, match=r"^0\.weight \(and 1 more\) of the network"):
        check_weights(net, "now", optimizer)
