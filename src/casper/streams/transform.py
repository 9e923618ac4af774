"""Convert stored uint8 images to network inputs: batched, with separate random draws for each image."""

from dataclasses import dataclass
from functools import lru_cache
from threading import get_ident

import torch
from torch import Generator, Tensor


def random_view(images: Tensor, *, padding: int, flip: bool, generator: Generator) -> Tensor:
    """Crop each image at a random position after zero padding, and flip it horizontally with probability one half.

    The size of the images stays the same. All rows of all crops are copied in one operation.

    Args:
        images: Tensor of shape (n, c, h, w).
        padding: The width of the zero border; 0 for no crop.
        flip: Whether to flip images horizontally at random.
        generator: The source of randomness.

    Returns:
        Tensor of the same shape and type.

    Example:
        >>> import torch
        >>> from casper.streams import random_view
        >>> images = torch.ones(2, 1, 8, 8, dtype=torch.uint8)
        >>> view = random_view(images, padding=1, flip=True, generator=torch.Generator().manual_seed(0))
        >>> view.shape, view.dtype
        (torch.Size([2, 1, 8, 8]), torch.uint8)
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
    """Allocate a buffer for padded images and their mirror images; cached, one per thread.

    Returns:
        A view for the images, of the given shape (copies, n, c, h, w), and all overlapping rows of width w, one
        starting at every pixel, border included; a crop consists of h of them.
    """
    *outer, height, width = shape
    with torch.inference_mode(False):  # cached: writable outside inference mode too
        padded = torch.zeros(*outer, height + 2 * padding, width + 2 * padding, dtype=dtype, device=device)
    inside = padded[..., padding : padding + height, padding : padding + width]
    return inside, padded.view(-1).unfold(0, width, 1)


@lru_cache(maxsize=8)
def _places(n: int, channels: int, height: int, wide: int, padding: int, flip: bool) -> tuple[Tensor, Tensor]:
    """Compute the offsets of crops and their rows, in pixels; cached, since they depend only on the shape.

    Returns:
        The offsets of all possible corners, shape (number of choices,), and the offsets of the rows of crops whose
        corner is at 0, shape (n, c, h).
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

    Example:
        >>> import torch
        >>> from casper.streams import normalize
        >>> white = torch.full((2, 1, 8, 8), 255, dtype=torch.uint8)
        >>> normalize(white, mean=(0.5,), std=(0.25,))[0, 0, 0, 0]
        tensor(2.)
    """
    scale, shift = _scale_and_shift(tuple(mean), tuple(std), images.device)
    return images.to(torch.float32).mul_(scale).add_(shift)


@lru_cache(maxsize=8)
def _scale_and_shift(mean: tuple[float, ...], std: tuple[float, ...], device: torch.device) -> tuple[Tensor, Tensor]:
    """Write (x / 255 - mean) / std as x * scale + shift, each of shape (c, 1, 1)."""
    scale = torch.tensor([1 / (255 * deviation) for deviation in std], device=device)
    shift = torch.tensor([-centre / deviation for centre, deviation in zip(mean, std, strict=True)], device=device)
    return scale[:, None, None], shift[:, None, None]


@dataclass(frozen=True)
class Transform:
    """Converts the images of a stream to network inputs.

    Attributes:
        mean: The mean of each channel, on the scale [0, 1].
        std: The standard deviation of each channel.
        padding: The width of the zero border from which training crops are cut; 0 for no crop.
        flip: Whether to flip training images horizontally at random.

    Example:
        >>> import torch
        >>> from casper import Transform
        >>> transform = Transform(mean=(0.5,), std=(0.25,), padding=1)
        >>> white = torch.full((2, 1, 8, 8), 255, dtype=torch.uint8)
        >>> transform.test(white)[0, 0, 0, 0]
        tensor(2.)
        >>> transform.train(white, torch.Generator().manual_seed(0)).shape
        torch.Size([2, 1, 8, 8])
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    padding: int = 0
    flip: bool = False

    def train(self, images: Tensor, generator: Generator) -> Tensor:
        """Crop, flip and normalise, with new random draws in every call."""
        if self.padding or self.flip:
            images = random_view(images, padding=self.padding, flip=self.flip, generator=generator)
        return normalize(images, self.mean, self.std)

    def test(self, images: Tensor) -> Tensor:
        """Normalise without augmentation."""
        return normalize(images, self.mean, self.std)
