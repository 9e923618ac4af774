import pytest
import torch
from torch import nn

from casper.nets import ConvNet, FeatureClassifier, evaluating, features_of, inference


@pytest.fixture
def net():
    torch.manual_seed(0)
    return FeatureClassifier(ConvNet((1, 8, 8), width=2), nn.Linear(16, 3))


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_is_the_same_afterwards_whatever_happens(net, training):
    def fail():
        with evaluating(net):
            assert not net.training
            assert not torch.is_grad_enabled()
            raise KeyError

    net.train(training)
    with pytest.raises(KeyError):
        fail()
    assert net.training == training
    assert torch.is_grad_enabled()


def test_features_are_those_of_evaluation_mode_and_change_nothing(net, monkeypatch):
    images = torch.randint(256, (7, 1, 8, 8), dtype=torch.uint8)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    monkeypatch.setattr(inference, "CHUNK", 3)
    features = features_of(net, images, lambda part: part.float() / 255)
    net.eval()
    torch.testing.assert_close(features, net(images.float() / 255).features.detach())
    assert not features.requires_grad
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())


def test_no_images_have_no_features(net):
    assert features_of(net, torch.zeros(0, 1, 8, 8, dtype=torch.uint8), lambda part: part.float()).shape == (0, 16)


def test_every_chunk_is_computed_separately(net, monkeypatch):
    monkeypatch.setattr(inference, "CHUNK", 3)
    images, kept = torch.randint(256, (7, 1, 8, 8), dtype=torch.uint8), []

    def piece(compute):
        kept.append(compute())
        return kept[-1] + 1

    features = features_of(net, images, lambda chunk: chunk.float(), piece)
    assert [len(each) for each in kept] == [3, 3, 1]
    assert torch.equal(features, torch.cat(kept) + 1)
    torch.testing.assert_close(torch.cat(kept), features_of(net, images, lambda chunk: chunk.float()))
