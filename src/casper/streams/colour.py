"""Changes of colour: batched, by an amount for each image.

Images are of shape (n, c, h, w) with values in [0, 1], and stay so. Three channels are red, green and blue; one is
grey, which has neither saturation nor hue. Amounts are of shape (n,).
"""

import torch
from torch import Tensor

# How much red, green and blue add to a grey: ITU-R 601, as in Pillow.
_LUMA = (0.299, 0.587, 0.114)


def greyscale(images: Tensor) -> Tensor:
    """Replace colours by their grey, grey = .299 red + .587 green + .114 blue; the number of channels stays."""
    return _grey(images).expand_as(images)


def change_brightness(images: Tensor, factors: Tensor) -> Tensor:
    """Multiply every value: factor * x."""
    return (images * _per_image(factors)).clamp_(0, 1)


def change_contrast(images: Tensor, factors: Tensor) -> Tensor:
    """Move every value away from the mean m of its image's grey, or towards it: factor * x + (1 - factor) * m."""
    return _blended(_grey(images).mean(dim=(2, 3), keepdim=True), images, factors)


def change_saturation(images: Tensor, factors: Tensor) -> Tensor:
    """Move every pixel away from its own grey, or towards it: factor * x + (1 - factor) * grey."""
    return images if images.shape[1] == 1 else _blended(_grey(images), images, factors)


def shift_hue(images: Tensor, turns: Tensor) -> Tensor:
    """Turn the hue of every pixel; saturation and value (in the sense of HSV) stay.

    With V and m a pixel's largest and smallest channel and H in [0, 6) its hue in sixths of a turn, a channel becomes
    V - (V - m) * clamp(min(k, 4 - k), 0, 1), k = (o + H + 6 * turns) mod 6 and o = 5, 3, 1 for red, green and blue: HSV
    to RGB without the division by V.
    """
    if images.shape[1] == 1:
        return images
    red, green, blue = images.unbind(dim=1)
    largest = images.amax(dim=1)
    chroma = largest - images.amin(dim=1)
    divisor = chroma.masked_fill(chroma == 0, 1)  # grey has no hue, and any will do
    hue = torch.where(
        largest == red,
        (green - blue) / divisor,
        torch.where(largest == green, 2 + (blue - red) / divisor, 4 + (red - green) / divisor),
    )
    offsets = torch.tensor([5.0, 3.0, 1.0], device=images.device).view(3, 1, 1)
    place = (offsets + hue.add_(6 * turns.view(-1, 1, 1))[:, None]).remainder_(6)
    share = torch.minimum(place, 4 - place).clamp_(0, 1)
    return torch.addcmul(largest[:, None], chroma[:, None], share, value=-1)


def _grey(images: Tensor) -> Tensor:
    """Compute the grey of every pixel, shape (n, 1, h, w)."""
    if images.shape[1] == 1:
        return images
    red, green, blue = images.unbind(dim=1)
    return (_LUMA[0] * red + _LUMA[1] * green + _LUMA[2] * blue)[:, None]


def _blended(others: Tensor, images: Tensor, factors: Tensor) -> Tensor:
    return torch.lerp(others, images, _per_image(factors)).clamp_(0, 1)


def _per_image(amounts: Tensor) -> Tensor:
    return amounts.view(-1, 1, 1, 1)
