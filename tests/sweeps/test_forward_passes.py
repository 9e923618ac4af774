import pytest
import torch
from torch import nn

from casper import ConvNet
from casper.nets import FeatureClassifier, snapshot
from casper.sweeps.forward_passes import ForwardPasses, counted_passes

IMAGES = torch.rand(2, 1, 8, 8)


def network():
    backbone = ConvNet((1, 8, 8), width=4)
    return FeatureClassifier(backbone, nn.Linear(backbone.dim, 3))


def test_whole_networks_count_and_their_parts_do_not():
    net = network()
    with counted_passes() as counter:
        assert counter.made == ForwardPasses(0, 0)
        net(IMAGES)
        net.backbone(IMAGES)
        nn.ReLU()(IMAGES)
        assert counter.made == ForwardPasses(1, 1)
        network()(IMAGES)
        assert counter.made == ForwardPasses(2, 2)


def test_passes_without_a_gradient_are_told_apart():
    net = network()
    with counted_passes() as counter:
        net(IMAGES)
        snapshot(net)(IMAGES)  # frozen, though gradients are enabled
        with torch.no_grad():
            net(IMAGES)
    assert counter.made == ForwardPasses(3, 1)


def test_nothing_is_counted_after_the_block_however_it_ended():
    net = network()
    with counted_passes() as counter:
        net(IMAGES)
    net(IMAGES)
    assert counter.made == ForwardPasses(1, 1)
    with pytest.raises(RuntimeError), counted_passes() as counter:
        net(torch.rand(2, 5, 8, 8))  # of five channels
    net(IMAGES)
    assert counter.made == ForwardPasses(0, 0)


def test_a_difference_is_what_was_made_in_between():
    assert ForwardPasses(7, 4) - ForwardPasses(2, 1) == ForwardPasses(5, 3)
