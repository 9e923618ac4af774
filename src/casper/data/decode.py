"""Decode images into one uint8 array, on all cores, with a progress bar."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy

from casper.data.dataset import LabelledSplit
from casper.data.limits import check_decoded_size
from casper.errors import DataError
from casper.formatting import printable

if TYPE_CHECKING:
    from PIL.Image import Image


# Formats that Pillow decodes itself. EPS is excluded: Pillow passes it to Ghostscript, which executes the content of
# the file, whatever its name.
_FORMATS = ("PNG", "JPEG", "WEBP", "AVIF", "BMP", "GIF", "TIFF", "PPM", "JPEG2000")


def open_image(file: "Path | IO[bytes]") -> "Image":
    """Open an image in one of the usual formats, detected by its content; no code in it is executed."""
    from PIL import Image

    return Image.open(file, formats=_known_formats())


@cache
def _known_formats() -> tuple[str, ...]:
    """List the formats that this build of Pillow supports."""
    from PIL import Image

    Image.init()
    return tuple(kind for kind in _FORMATS if kind in Image.OPEN)


def inside(folders: Sequence[Path], name: str) -> Path:
    """Resolve a path of a data set, relative to the first of its folders.

    Raises:
        ValueError: If the path leads out of the folders, or to a pipe or a device.
    """
    path = (folders[0] / name).resolve()
    if not any(path.is_relative_to(folder.resolve()) for folder in folders):
        raise ValueError(f"the path {name!r} leads out of {folders[0]}")
    if path.exists() and not path.is_file():
        raise ValueError(f"the path {name!r} does not lead to a file")
    return path


_GREY = frozenset({"1", "L", "LA", "I;16", "I;16B", "I;16L"})
_ORIENTATION = 0x0112  # the EXIF tag for the orientation of the camera
# The number of images per task of a thread; enough to make the overhead of the pool negligible.
_CHUNK = 256
T = TypeVar("T")


class ColourFound(Exception):  # noqa: N818 - a finding, not an error
    """A colour image among grey ones."""


@dataclass(frozen=True)
class Layout:
    """The common layout of all images of a data set.

    Attributes:
        channels: 1 for greyscale or 3 for colour.
        height: The height in pixels.
        width: The width in pixels.
        scale: Whether images of other sizes are scaled to this one; if not, they are an error.
        convert: Whether a greyscale layout converts colour images; if not, they raise `ColourFound`.
        model: The image from which the layout was taken, for error messages.
    """

    channels: int
    height: int
    width: int
    scale: bool
    convert: bool
    model: str

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape (c, h, w) of an image."""
        return (self.channels, self.height, self.width)

    def in_colour(self) -> "Layout":
        """Return the same layout for colour images."""
        return replace(self, channels=3)


def first_layout(split: LabelledSplit, image_size: int | None, channels: int | None) -> Layout:
    """Determine the layout from the arguments and, where they are None, from the first image of a split."""

    def look(image: "Image") -> Layout:
        width, height = _upright_size(image)
        return Layout(
            channels or (1 if image.mode in _GREY else 3),
            image_size or height,
            image_size or width,
            image_size is not None,
            channels is not None,
            _place(split, 0),
        )

    with _without_warnings():
        return _opened(split, 0, look)


def decode(split: LabelledSplit, layout: Layout, into: numpy.ndarray[Any, Any], title: str) -> None:
    """Decode every image of a split into a row of an array of shape (n, c, h, w).

    An image that must be scaled is scaled (bilinear, antialiased) to cover the target, then cropped at the centre.

    Raises:
        DataError: For an image that cannot be read or has another size; the message names the file and the row.
        ColourFound: See `Layout.convert`.
    """
    with _without_warnings():
        for row, image in enumerate(_each(split, lambda image: _pixels(image, layout), f"decoding {title}")):
            into[row] = image


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Ignore Pillow's warnings about transparent palettes and very large images; enormous ones are errors."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        yield


def _each(split: LabelledSplit, function: Callable[["Image"], T], what: str) -> Iterator[T]:
    """Apply a function to every image of a split, in order, in threads; Pillow releases the GIL while it decodes."""
    from tqdm import tqdm

    def chunk(start: int) -> list[T]:
        return [_opened(split, row, function) for row in range(start, min(start + _CHUNK, len(split.rows)))]

    bar = tqdm(total=len(split.rows), desc=printable(what), unit=" images", leave=False, disable=None)
    with bar, ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for results in pool.map(chunk, range(0, len(split.rows), _CHUNK)):
                yield from results
                bar.update(len(results))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _opened(split: LabelledSplit, row: int, function: Callable[["Image"], T]) -> T:
    part, inner = split.rows[row]
    try:
        with split.parts[part].open(inner) as image:
            return function(image)
    except ColourFound:
        raise
    except DataError as error:
        raise DataError(f"{_place(split, row)}: {error}") from error
    except Exception as error:  # Pillow raises many kinds of errors for broken files
        unknown = type(error).__name__ == "UnidentifiedImageError"
        reason = "unknown format" if unknown else str(error) or type(error).__name__
        raise DataError(f"{_place(split, row)}: cannot be read as an image: {reason}") from error


def _place(split: LabelledSplit, row: int) -> str:
    part, inner = split.rows[row]
    return split.parts[part].place(inner)


def _may_be_turned(image: "Image") -> bool:
    """Return whether a file may contain an orientation (Pillow rotates TIFF files itself)."""
    return "exif" in image.info


def _upright_size(image: "Image") -> tuple[int, int]:
    turned = _may_be_turned(image) and image.getexif().get(_ORIENTATION, 1) in (5, 6, 7, 8)
    return (image.height, image.width) if turned else image.size


def _pixels(image: "Image", layout: Layout) -> numpy.ndarray[Any, Any]:
    """Convert one image to the layout: shape (c, h, w), uint8."""
    from PIL import Image, ImageOps

    if layout.channels == 1 and not layout.convert and image.mode not in _GREY:
        raise ColourFound
    if image.mode in ("I", "F"):
        raise DataError(f"must have 8 or 16 bits per channel, but got 32 (Pillow's mode {image.mode})")
    check_decoded_size(image.width * image.height * len(image.getbands()), "one image")
    if _may_be_turned(image):
        image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I;16"):  # keep the upper eight bits
        image = Image.fromarray((numpy.asarray(image) >> 8).astype(numpy.uint8))
    image = image.convert("L" if layout.channels == 1 else "RGB")
    if image.size != (layout.width, layout.height):
        if not layout.scale:
            raise DataError(
                f"{image.width}x{image.height} pixels, others have {layout.width}x{layout.height} ({layout.model}); "
                "use --image-size N to scale all to N x N"
            )
        image = ImageOps.fit(image, (layout.width, layout.height), Image.Resampling.BILINEAR)
    array = numpy.asarray(image)
    return array[None] if layout.channels == 1 else array.transpose(2, 0, 1)
