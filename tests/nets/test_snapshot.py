import torch
from torch import nn

from casper.nets import ConvNet, FeatureClassifier, snapshot


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
