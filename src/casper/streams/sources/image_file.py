"""One encoded image."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

# Formats that Pillow decodes by itself. Left out, above all: EPS, which it hands to Ghostscript, a program that runs
# what the file says, whatever the file is called.
_FORMATS = ("PNG", "JPEG", "WEBP", "AVIF", "BMP", "GIF", "TIFF", "PPM", "JPEG2000")


def open_image(file: "Path | IO[bytes]") -> "Image":
    """Open an image in one of the usual formats, by its content; nothing in it can run."""
    from PIL import Image

    return Image.open(file, formats=_known_formats())


@cache
def _known_formats() -> tuple[str, ...]:
    """List those that this Pillow was built with."""
    from PIL import Image

    Image.init()
    return tuple(kind for kind in _FORMATS if kind in Image.OPEN)


def inside(folders: Sequence[Path], name: str) -> Path:
    """Follow a path that a data set gives, from the first of its own folders and into no other.

    Raises:
        ValueError: If it leads out of them.
    """
    path = (folders[0] / name).resolve()
    if not any(path.is_relative_to(folder.resolve()) for folder in folders):
        raise ValueError(f"the path {name!r} leads out of {folders[0]}")
    return path
