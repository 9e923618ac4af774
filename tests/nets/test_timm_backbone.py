import sys
from types import ModuleType

import pytest
import torch
from torch import nn

from casper.errors import ParameterError
from casper.nets import TimmBackbone


class Body(nn.Module):
    """What timm would make: pooled features, as many as only a pass can tell."""

    def __init__(self, channels):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(channels, 7, 3), nn.BatchNorm2d(7), nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def forward(self, inputs):
        return self.layers(inputs)


@pytest.fixture
def timm(monkeypatch):
    """A stand-in for the library, which is an optional extra."""
    module = ModuleType("timm")
    module.asked = []

    def create_model(name, *, pretrained, num_classes, in_chans):
        module.asked.append((name, pretrained, num_classes))
        if name == "unpooled":
            return nn.Identity()
        if name != "tiny":
            raise RuntimeError(f"Unknown model ({name})")
        return Body(in_chans)

    module.create_model = create_model
    monkeypatch.setitem(sys.modules, "timm", module)
    return module


def test_the_number_of_features_is_found(timm):
    net = TimmBackbone("tiny", (1, 9, 9))
    assert net.dim == 7
    assert not net.body.layers[1].running_mean.any()  # the pass that counts features left no trace
    features, maps = net(torch.rand(3, 1, 9, 9))
    assert features.shape == (3, 7)
    assert (maps, net.num_maps) == ((), 0)
    assert timm.asked == [("tiny", False, 0)]
    assert net.body.training


def test_errors(timm, monkeypatch):
    with pytest.raises(ParameterError, match=r"a timm model for images of shape \(3, 9, 9\).*'big': Unknown model"):
        TimmBackbone("big", (3, 9, 9))
    with pytest.raises(ParameterError, match="pooled features"):
        TimmBackbone("unpooled", (3, 9, 9))
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ParameterError, match=r"a model of an installed package \(timm: `pip install timm`\)"):
        TimmBackbone("tiny", (3, 9, 9))
