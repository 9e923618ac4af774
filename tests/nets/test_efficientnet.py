import pytest
import torch
import torch.nn.functional as F
from torch import nn

from casper.errors import ParameterError
from casper.nets import EfficientNetB2, FeatureClassifier
from casper.nets.efficientnet import drop_connect


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(0)
    return EfficientNetB2((3, 84, 84))


def inputs(number=2, side=84):
    return torch.randn(number, 3, side, side, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("classes", "parameters"), [(1000, 9_109_994), (100, 7_841_894)])
def test_as_many_parameters_as_published(classes, parameters, net):
    whole = FeatureClassifier(net, nn.Linear(net.dim, classes))
    assert sum(parameter.numel() for parameter in whole.parameters()) == parameters


def test_maps_and_features(net):
    with torch.no_grad():
        features, maps = net.train()(inputs())  # normalised by the batch: values of order one
    assert [tuple(m.shape[1:]) for m in maps] == [(24, 21, 21), (48, 11, 11), (120, 6, 6), (1408, 3, 3)]
    assert net.num_maps == len(maps)
    assert features.shape == (2, net.dim) == (2, 1408)
    torch.testing.assert_close(features, F.silu(maps[-1]).mean(dim=(2, 3)))


def test_other_maps():
    net = EfficientNetB2((3, 40, 40), map_blocks=(22, 0, 9))
    with torch.no_grad():
        _, maps = net.eval()(inputs(side=40))
    assert [m.shape[1] for m in maps] == [352, 16, 88, 1408]


def test_constants_of_the_reference(net):
    norms = [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]
    assert {(norm.eps, norm.momentum) for norm in norms} == {(1e-3, 0.01)}
    assert net.dropout == 0.3
    assert [round(block.drop, 6) for block in net.blocks] == [round(0.2 * block / 23, 6) for block in range(23)]
    assert net.blocks[5].excite[0].out_channels == net.blocks[5].expand[0].in_channels // 4


@pytest.mark.parametrize("side", [84, 40])
def test_padding_is_tensorflows_same(side):
    net = EfficientNetB2((3, side, side)).eval()
    with torch.no_grad():
        expected = -(-side // 2)
        assert net.stem(inputs(1, side)).shape[-1] == expected
        _, maps = net(inputs(1, side))
    assert [m.shape[-1] for m in maps] == [-(-side // 4), -(-side // 8), -(-side // 16), -(-side // 32)]


def test_the_odd_pixel_of_padding_goes_right_and_below(net):
    pads = [module.padding for module in net.modules() if isinstance(module, nn.ZeroPad2d)]
    assert pads == [(0, 1, 0, 1), (0, 1, 0, 1), (1, 2, 1, 2)]


def test_dropout_is_between_features_and_head_in_training_only():
    torch.manual_seed(0)
    whole = FeatureClassifier(EfficientNetB2((3, 40, 40), drop_connect=0.0), nn.Linear(1408, 3))
    images = inputs(4, 40)
    whole.train()
    first, second = whole(images), whole(images)
    torch.testing.assert_close(first.features, second.features)
    assert not torch.allclose(first.logits, second.logits)
    whole.eval()
    assert torch.equal(whole(images).logits, whole(images).logits)
    torch.testing.assert_close(whole(images).logits, whole.head(whole(images).features))


def test_drop_connect_drops_whole_samples_and_keeps_the_mean():
    torch.manual_seed(0)
    signal = torch.ones(4000, 2, 3, 3)
    dropped = drop_connect(signal, 0.25, training=True)
    per_sample = dropped.flatten(1)
    assert (per_sample.min(1).values == per_sample.max(1).values).all()
    assert set(per_sample[:, 0].tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    assert abs((per_sample[:, 0] == 0).sum().item() - 1000) < 4 * (4000 * 0.25 * 0.75) ** 0.5
    assert drop_connect(signal, 0.25, training=False) is signal
    state = torch.get_rng_state()
    assert drop_connect(signal, 0.0, training=True) is signal
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    "options",
    [
        {"dropout": 1.0},
        {"drop_connect": -0.1},
        *({"map_blocks": blocks} for blocks in ((4, 7, 23), (4, 4, 7), (-1, 0, 1), (4, 7))),
    ],
)
def test_what_cannot_be_built(options):
    with pytest.raises(ParameterError):
        EfficientNetB2((3, 84, 84), **options)
    with pytest.raises(ParameterError, match="at least 33 x 33 pixels"):
        EfficientNetB2((3, 32, 32))


def swish(signal):
    return signal * torch.sigmoid(signal)


def test_a_block_step_by_step(net):
    net.eval()
    block = net.blocks[3]
    signal = torch.randn(2, 24, 21, 21, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        inside = swish(block.expand[1](block.expand[0](signal)))
        inside = swish(block.filter[1](block.filter[0](inside)))
        squeezed = swish(block.excite[0](inside.mean(dim=(2, 3), keepdim=True)))
        inside = inside * torch.sigmoid(block.excite[2](squeezed))
        expected = signal + block.project[1](block.project[0](inside))
        torch.testing.assert_close(block(signal), expected, atol=1e-5, rtol=1e-5)


def test_images_need_not_be_square():
    net = EfficientNetB2((3, 51, 64)).eval()
    images = torch.randn(1, 3, 51, 64, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        # TensorFlow's "same" for 3x3 and stride 2: 51 rows need one more on both sides, 64 columns one to the right.
        expected = net.stem[1](F.conv2d(F.pad(images, (0, 1, 1, 1)), net.stem[0][-1].weight, stride=2))
        torch.testing.assert_close(net.stem(images), expected, atol=1e-5, rtol=1e-5)
        _, maps = net(images)
    assert [tuple(m.shape[2:]) for m in maps] == [(13, 16), (7, 8), (4, 4), (2, 2)]
