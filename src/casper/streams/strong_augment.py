"""Strong augmentation for contrastive losses: batched, with separate random draws for each image."""

import math

import torch
from torch import Generator, Tensor

# The weights of red, green and blue in a grey value: ITU-R 601, as in Pillow.
_LUMA = (0.299, 0.587, 0.114)


def greyscale(images: Tensor) -> Tensor:
    """Replace colours by grey = .299 red + .587 green + .114 blue; the number of channels stays the same."""
    return _grey(images).expand_as(images)


def change_brightness(images: Tensor, factors: Tensor) -> Tensor:
    """Multiply every value of an image: factor * x."""
    return (images * _per_image(factors)).clamp_(0, 1)


def change_contrast(images: Tensor, factors: Tensor) -> Tensor:
    """Interpolate between every value and the mean m of its image's grey: factor * x + (1 - factor) * m."""
    return _blended(_grey(images).mean(dim=(2, 3), keepdim=True), images, factors)


def change_saturation(images: Tensor, factors: Tensor) -> Tensor:
    """Interpolate between every pixel and its grey: factor * x + (1 - factor) * grey."""
    return images if images.shape[1] == 1 else _blended(_grey(images), images, factors)


def shift_hue(images: Tensor, turns: Tensor) -> Tensor:
    """Shift the hue of every pixel; saturation and value (in the sense of HSV) stay the same.

    With V and m a pixel's largest and smallest channel and H in [0, 6) its hue in sixths of a turn, a channel becomes
    V - (V - m) * clamp(min(k, 4 - k), 0, 1), k = (o + H + 6 * turns) mod 6 and o = 5, 3, 1 for red, green and blue: HSV
    to RGB without the division by V.
    """
    if images.shape[1] == 1:
        return images
    red, green, blue = images.unbind(dim=1)
    largest = images.amax(dim=1)
    chroma = largest - images.amin(dim=1)
    divisor = chroma.masked_fill(chroma == 0, 1)  # grey has no hue; any value works
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


# The values of SCR's released code, whose crops are those of torchvision.
_AREAS = (0.2, 1.0)
_RATIOS = (3 / 4, 4 / 3)
_ATTEMPTS = 10
_JITTERED, _GREYED = 0.8, 0.2
_BRIGHTNESS, _CONTRAST, _SATURATION, _HUE = 0.4, 0.4, 0.4, 0.1


def strong_view(images: Tensor, generator: Generator) -> Tensor:
    """Apply a random resized crop, a flip, colour jitter and greyscale, with separate draws for each image.

    In this order: a crop (`random_boxes`), resized to the size of the image; a horizontal flip with probability 1/2;
    with probability .8 brightness, contrast and saturation changed by a factor from (.6, 1.4) each and the hue shifted
    by (-.1, .1) of a circle, one after the other; greyscale with probability .2. Chen et al., "A Simple Framework for
    Contrastive Learning of Visual Representations" (ICML 2020), with the strengths of SCR's released code. The fixed
    order of the four colour changes is a choice of this library.

    Args:
        images: Tensor of shape (n, c, h, w), c 1 or 3, with values in [0, 1].
        generator: The source of randomness; the number of draws depends only on n.

    Returns:
        Tensor of the same shape, with values in [0, 1].

    Example:
        >>> import torch
        >>> from casper.streams import strong_view
        >>> generator = torch.Generator().manual_seed(0)
        >>> strong_view(torch.rand(2, 3, 32, 32, generator=generator), generator).shape
        torch.Size([2, 3, 32, 32])
    """
    n, _, height, width = images.shape
    boxes = random_boxes(n, height, width, generator)
    mirrored = _happens(0.5, n, generator)
    cropped = resized_crop(images, boxes.to(images.device), mirrored.to(images.device))
    return _greyed(_jittered(cropped, generator), generator)


def random_boxes(n: int, height: int, width: int, generator: Generator) -> Tensor:
    """Draw n random boxes within an image, with .2 to 1 of its area and an aspect ratio of 3/4 to 4/3.

    Area A and log(ratio r) are uniform; the box is round(sqrt(A / r)) high and round(sqrt(A r)) wide. A box that does
    not fit is drawn again; after ten attempts the whole image is used.

    Returns:
        Tensor of shape (n, 4), int64, on the CPU: top, left, height and width.
    """
    draws = torch.rand(2, n, _ATTEMPTS, generator=generator, dtype=torch.float64)
    areas = height * width * _between(*_AREAS, draws[0])
    ratios = _between(math.log(_RATIOS[0]), math.log(_RATIOS[1]), draws[1]).exp()
    sizes = torch.stack([(areas / ratios).sqrt(), (areas * ratios).sqrt()], dim=2).round().long()
    whole = torch.tensor([height, width])
    fits = ((sizes >= 1) & (sizes <= whole)).all(dim=2)
    first = fits.int().argmax(dim=1)  # the first that fits
    chosen = torch.where(fits.any(dim=1, keepdim=True), sizes[torch.arange(n), first], whole)
    places = torch.rand(n, 2, generator=generator, dtype=torch.float64)
    corners = (places * (whole - chosen + 1)).floor().long()
    return torch.cat([corners, chosen], dim=1)


def resized_crop(images: Tensor, boxes: Tensor, mirrored: Tensor) -> Tensor:
    """Crop a box of each image, resize it bilinearly to the size of the image, and flip it horizontally if requested.

    Row i of a box of height b, resized to height h, lies at y_i = (i + .5) b / h - .5 in the box, clamped to its rows;
    row j of the box has the weight max(0, 1 - |y_i - j|). The same holds for columns: the result is R X Cᵀ with two
    such matrices, which costs less than looking up four neighbours for each pixel.

    Args:
        images: Tensor of shape (n, c, h, w) with values in [0, 1].
        boxes: Tensor of shape (n, 4): top, left, height and width, within the images.
        mirrored: Boolean tensor of shape (n,).

    Returns:
        Tensor of the same shape as images.
    """
    n, channels, height, width = images.shape
    top, left, tall, wide = boxes.to(images.dtype).unbind(dim=1)
    rows, columns = _stretch(height, top, tall), _stretch(width, left, wide)
    columns = torch.where(mirrored[:, None, None], columns.flip(1), columns)
    stretched = torch.bmm(images.reshape(n, channels * height, width), columns.transpose(1, 2))
    return torch.matmul(rows[:, None], stretched.view(images.shape))


def _stretch(size: int, starts: Tensor, lengths: Tensor) -> Tensor:
    """Create the matrices that resize one axis, shape (n, size, size); rows sum to 1, so values stay in range."""
    pixels = torch.arange(size, dtype=starts.dtype, device=starts.device)
    inside = (pixels + 0.5) * (lengths / size)[:, None] - 0.5
    places = starts[:, None] + torch.minimum(inside.clamp(min=0), lengths[:, None] - 1)
    return (1 - (places[:, :, None] - pixels).abs()).clamp_(min=0)


def _jittered(images: Tensor, generator: Generator) -> Tensor:
    """Change brightness, contrast, saturation and hue of randomly chosen images."""
    n, device = len(images), images.device
    happens = _happens(_JITTERED, n, generator).to(device)
    draws = torch.rand(4, n, generator=generator).to(device)
    changed = change_brightness(images, _between(1 - _BRIGHTNESS, 1 + _BRIGHTNESS, draws[0]))
    changed = change_contrast(changed, _between(1 - _CONTRAST, 1 + _CONTRAST, draws[1]))
    changed = change_saturation(changed, _between(1 - _SATURATION, 1 + _SATURATION, draws[2]))
    changed = shift_hue(changed, _between(-_HUE, _HUE, draws[3]))
    return torch.where(happens[:, None, None, None], changed, images)


def _greyed(images: Tensor, generator: Generator) -> Tensor:
    """Convert randomly chosen images to greyscale."""
    happens = _happens(_GREYED, len(images), generator).to(images.device)
    return torch.where(happens[:, None, None, None], greyscale(images), images)


def _happens(probability: float, n: int, generator: Generator) -> Tensor:
    return torch.rand(n, generator=generator) < probability


def _between(low: float, high: float, draws: Tensor) -> Tensor:
    """Scale draws from [0, 1) to an interval."""
    return low + (high - low) * draws
