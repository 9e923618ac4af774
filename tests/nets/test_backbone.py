import pytest
import torch

from casper.nets import MLP, Backbone, ConvNet

BACKBONES = [ConvNet, MLP]
SHAPES = [(channels, size, size) for channels in (1, 3) for size in (8, 9, 16, 32)]


def inputs(shape, number=4, seed=0):
    return torch.randn(number, *shape, generator=torch.Generator().manual_seed(seed))


def built(backbone, shape, seed=0):
    torch.manual_seed(seed)
    return backbone(shape)


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("shape", SHAPES)
def test_features_have_the_promised_shape(backbone, shape):
    net = built(backbone, shape)
    features, maps = net(inputs(shape))
    assert features.shape == (4, net.dim)
    assert isinstance(maps, tuple)
    assert all(stage.ndim == 4 and len(stage) == 4 for stage in maps)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_features_are_after_relu(backbone):
    features, _ = built(backbone, (1, 8, 8))(inputs((1, 8, 8), 32))
    assert (features >= 0).all()
    assert (features > 0).any()


@pytest.mark.parametrize("backbone", BACKBONES)
def test_maps_are_before_relu(backbone):
    _, maps = built(backbone, (3, 16, 16))(inputs((3, 16, 16)))
    assert all((stage < 0).any() and (stage > 0).any() for stage in maps)


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 9, 9)])
def test_batch_of_one_trains(backbone, shape):
    net = built(backbone, shape).train()
    features, _ = net(inputs(shape, 1))
    features.sum().backward()
    assert features.shape == (1, net.dim)
    assert features.isfinite().all()


@pytest.mark.parametrize("backbone", BACKBONES)
def test_gradients_reach_all_parameters(backbone):
    net = built(backbone, (3, 8, 8))
    net(inputs((3, 8, 8), 8))[0].square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("backbone", BACKBONES)
def test_initialisation_follows_the_global_seed(backbone):
    first, again, other = (built(backbone, (1, 8, 8), seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_evaluation_treats_images_one_by_one(backbone):
    net = built(backbone, (1, 8, 8)).eval()
    images = inputs((1, 8, 8), 6)
    alone = torch.cat([net(image)[0] for image in images.split(1)])
    torch.testing.assert_close(net(images)[0], alone)


def test_backbone_without_forward_cannot_be_built():
    class Nothing(Backbone):
        dim = 3

    with pytest.raises(TypeError, match="abstract"):
        Nothing()
