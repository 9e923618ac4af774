"""Stored uint8 images to network inputs: batched tensor operations, decided for each image on its own."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor


def random_crop(images: Tensor, padding: int, generator: Generator) -> Tensor:
    """Pad each image with zeros on all sides and cut out a window of the original size at a random place.

    Args:
        images: Tensor of shape (n, c, h, w).
        padding: How many zeros on each side.
        generator: Where the randomness comes from.

    Returns:
        Tensor of the same shape and type.
    """
    n, _, height, width = images.shape
    padded = F.pad(images, (padding,) * 4)
    tops = torch.randint(0, 2 * padding + 1, (n, 1), generator=generator)
    lefts = torch.randint(0, 2 * padding + 1, (n, 1), generator=generator)
    rows = (tops + torch.arange(height)).to(images.device)  # shape: (n, h)
    columns = (lefts + torch.arange(width)).to(images.device)  # shape: (n, w)
    items = torch.arange(n, device=images.device)[:, None, None]
    # Advanced indices around a slice come first: (n, h, w, c).
    return padded[items, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def random_flip(images: Tensor, generator: Generator) -> Tensor:
    """Mirror each image left to right with probability one half.

    Args:
        images: Tensor of shape (n, c, h, w).
        generator: Where the randomness comes from.

    Returns:
        Tensor of the same shape and type.
    """
    flipped = (torch.rand(len(images), generator=generator) < 0.5).to(images.device)
    return torch.where(flipped[:, None, None, None], images.flip(3), images)


def normalize(images: Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> Tensor:
    """Scale uint8 values to [0, 1], subtract the channel's mean and divide by its standard deviation.

    Args:
        images: Tensor of shape (n, c, h, w), uint8.
        mean: One value per channel, on the scale [0, 1].
        std: One value per channel.

    Returns:
        Tensor of shape (n, c, h, w), float32.
    """
    shift = torch.tensor(mean, device=images.device)[:, None, None]
    scale = torch.tensor(std, device=images.device)[:, None, None]
    return (images / 255 - shift) / scale


@dataclass(frozen=True)
class Transform:
    """How a stream's images are shown to a network.

    Attributes:
        mean: Per channel, on the scale [0, 1].
        std: Per channel.
        padding: Width of the border of zeros from which training crops are cut; 0: no crop.
        flip: Whether training images are mirrored at random.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    padding: int = 0
    flip: bool = False

    def train(self, images: Tensor, generator: Generator) -> Tensor:
        """Crop, flip and normalise: a fresh view at every call."""
        if self.padding:
            images = random_crop(images, self.padding, generator)
        if self.flip:
            images = random_flip(images, generator)
        return normalize(images, self.mean, self.std)

    def test(self, images: Tensor) -> Tensor:
        """Normalise."""
        return normalize(images, self.mean, self.std)
