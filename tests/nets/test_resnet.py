import pytest
import torch
import torch.nn.functional as F
from torch import nn

from casper.errors import ParameterError
from casper.nets import FeatureClassifier, ResNet18


def inputs(shape=(3, 32, 32), number=2):
    return torch.randn(number, *shape, generator=torch.Generator().manual_seed(0))


def size(net):
    return sum(parameter.numel() for parameter in net.parameters())


def test_the_papers_network_has_as_many_parameters_as_published():
    backbone = ResNet18((3, 32, 32))
    assert size(FeatureClassifier(backbone, nn.Linear(backbone.dim, 100))) == 11_220_132


@pytest.mark.parametrize(("width", "side"), [(4, 32), (4, 16), (5, 9)])
def test_four_maps_before_their_relu(width, side):
    net = ResNet18((3, side, side), width=width)
    features, maps = net(inputs((3, side, side)))
    assert net.num_maps == len(maps) == 4
    sides = [side, -(-side // 2), -(-side // 4), -(-side // 8)]
    assert [tuple(m.shape[1:]) for m in maps] == [(width * 2**stage, sides[stage], sides[stage]) for stage in range(4)]
    assert all((m < 0).any() for m in maps)
    assert features.shape == (2, net.dim) == (2, 8 * width)
    torch.testing.assert_close(features, F.relu(maps[-1]).mean(dim=(2, 3)))


def test_a_stage_continues_from_the_previous_map_after_relu():
    net = ResNet18((3, 16, 16), width=4).eval()
    _, maps = net(inputs((3, 16, 16)))
    for stage in (1, 2, 3):
        first, second = net.stages[stage]
        torch.testing.assert_close(second(F.relu(first(F.relu(maps[stage - 1])))), maps[stage])


def test_a_block_is_the_sum_of_its_path_and_its_shortcut():
    net = ResNet18((3, 16, 16), width=4).eval()
    with torch.no_grad():
        for block in (block for stage in net.stages for block in stage):
            block.path[-1].weight.zero_()
            block.path[-1].bias.zero_()
    signal = F.relu(net.stem(inputs((3, 16, 16))))
    torch.testing.assert_close(net.stages[0][0](signal), signal)
    torch.testing.assert_close(net.stages[1][0](signal), net.stages[1][0].shortcut(signal))
    shortcuts = [isinstance(block.shortcut, nn.Identity) for stage in net.stages for block in stage]
    assert shortcuts == [True, True, False, True, False, True, False, True]


def test_there_is_no_max_pool_and_the_stem_keeps_the_size():
    net = ResNet18((1, 20, 12), width=3)
    assert not any(isinstance(module, nn.MaxPool2d) for module in net.modules())
    assert net.stem(inputs((1, 20, 12))).shape == (2, 3, 20, 12)


@pytest.mark.parametrize(("shape", "width"), [((3, 8, 32), 4), ((3, 32, 32), 0)])
def test_what_cannot_be_built(shape, width):
    with pytest.raises(ParameterError):
        ResNet18(shape, width=width)


def test_it_trains_on_a_batch_of_one():
    ResNet18((3, 9, 9), width=2).train()(inputs((3, 9, 9), 1))
