"""Stored uint8 images to network inputs: batched tensor operations, decided for each image on its own."""

from dataclasses import dataclass
from functools import lru_cache
from threading import get_ident

import torch
from torch import Generator, Tensor


def random_view(images: Tensor, *, padding: int, flip: bool, generator: Generator) -> Tensor:
    """Cut a window of the original size out of each image at a random place, and mirror it with probability one half.

    The windows are cut from the images with a border of zeros. A window is copied row by row, and all rows of all
    windows in one operation.

    Args:
        images: Tensor of shape (n, c, h, w).
        padding: The width of the border; 0: the window is the image.
        flip: Whether images are mirrored, left to right.
        generator: Where the randomness comes from.

    Returns:
        Tensor of the same shape and type.
    """
    n, channels, height, width = images.shape
    inside, rows = _scratch((1 + flip, *images.shape), padding, images.dtype, images.device, get_ident())
    inside[0] = images
    if flip:
        inside[1] = images.flip(3)
    corners, starts = _places(n, channels, height, width + 2 * padding, padding, flip)
    chosen = torch.randint(0, len(corners), (n,), generator=generator)
    starts = starts + corners.index_select(0, chosen)[:, None, None]
    return rows.index_select(0, starts.view(-1).to(images.device)).view(images.shape)


@lru_cache(maxsize=8)
def _scratch(
    shape: tuple[int, ...], padding: int, dtype: torch.dtype, device: torch.device, thread: int
) -> tuple[Tensor, Tensor]:
    """Make a place for images, and for their mirror images, with a border of zeros; kept, one per thread.

    Returns:
        The place for the images, of the given shape (copies, n, c, h, w), and all overlapping rows of width w, one
        beginning at every pixel, border included: a window is h of them.
    """
    *outer, height, width = shape
    with torch.inference_mode(False):  # whoever asks first, everyone may write into it
        padded = torch.zeros(*outer, height + 2 * padding, width + 2 * padding, dtype=dtype, device=device)
    inside = padded[..., padding : padding + height, padding : padding + width]
    return inside, padded.view(-1).unfold(0, width, 1)


@lru_cache(maxsize=8)
def _places(n: int, channels: int, height: int, wide: int, padding: int, flip: bool) -> tuple[Tensor, Tensor]:
    """Where windows and their rows begin, counted in pixels; always the same for batches of one shape, so it is kept.

    Returns:
        The corners that a window may have, shape (number of choices,), and the beginnings of all rows of the windows
        whose corner is 0, shape (n, c, h).
    """
    shifts = torch.arange(2 * padding + 1)
    tall = height + 2 * padding
    mirrored = torch.arange(1 + flip) * (n * channels * tall * wide)
    corners = mirrored[:, None, None] + shifts[:, None] * wide + shifts
    planes = torch.arange(n * channels).view(n, channels, 1) * (tall * wide)
    return corners.flatten(), planes + torch.arange(height) * wide


def normalize(images: Tensor, mean: tuple[float, ...], std: tuple[float, ...]) -> Tensor:
    """Scale uint8 values to [0, 1], subtract the channel's mean and divide by its standard deviation.

    Args:
        images: Tensor of shape (n, c, h, w), uint8.
        mean: One value per channel, on the scale [0, 1].
        std: One value per channel.

    Returns:
        Tensor of shape (n, c, h, w), float32.
    """
    scale, shift = _scale_and_shift(tuple(mean), tuple(std), images.device)
    return images.to(torch.float32).mul_(scale).add_(shift)


@lru_cache(maxsize=8)
def _scale_and_shift(mean: tuple[float, ...], std: tuple[float, ...], device: torch.device) -> tuple[Tensor, Tensor]:
    """Put (x / 255 - mean) / std into the form x * scale + shift, each of shape (c, 1, 1)."""
    scale = torch.tensor([1 / (255 * deviation) for deviation in std], device=device)
    shift = torch.tensor([-centre / deviation for centre, deviation in zip(mean, std, strict=True)], device=device)
    return scale[:, None, None], shift[:, None, None]


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
        if self.padding or self.flip:
            images = random_view(images, padding=self.padding, flip=self.flip, generator=generator)
        return normalize(images, self.mean, self.std)

    def test(self, images: Tensor) -> Tensor:
        """Normalise."""
        return normalize(images, self.mean, self.std)
