"""A folder of images, one folder per class."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from casper.errors import DataError
from casper.streams.sources.fingerprint import of_files
from casper.streams.sources.source import RawSet, Source, Split
from casper.streams.sources.splits import TEST_NAMES

if TYPE_CHECKING:
    from PIL.Image import Image

_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"})


class ImageFolder(Source):
    """`PATH/{train,test}/CLASS/*.png`, or one level, `PATH/CLASS/*.png`, which has still to be cut.

    Files are read in the order of their names; hidden ones and those that are no images by their name are left out.
    """

    def __init__(self, path: Path) -> None:
        self.title = str(path)
        if not path.is_dir():
            raise DataError(f"folder:{path}: no such directory; wanted {path}/{{train,test}}/CLASS/*.png")
        folders = {folder.name.lower(): folder for folder in _folders(path)}
        test = next((folders[name] for name in TEST_NAMES if name in folders), None)
        if "train" in folders and test is not None:
            self._files = {"train": _images(folders["train"]), "test": _images(test)}
        else:
            self._files = {"all": _images(folders.get("train", path)) or _images(path)}
        for part, files in self._files.items():
            if not files:
                where = path if part == "all" else path / part
                raise DataError(f"folder:{path}: no images in {where}/CLASS/; wanted {', '.join(sorted(_SUFFIXES))}")
        self.fingerprint = of_files(file for files in self._files.values() for file in files)

    def read(self) -> RawSet:
        """List the files."""
        return RawSet({name: _split(files) for name, files in self._files.items()})


def _split(files: list[Path]) -> Split:
    def open_row(row: int) -> "Image":
        from PIL import Image

        return Image.open(files[row])

    place: Callable[[int], str] = lambda row: str(files[row])  # noqa: E731
    return Split([file.parent.name for file in files], open_row, place)


def _folders(path: Path) -> list[Path]:
    return sorted(folder for folder in path.iterdir() if folder.is_dir() and not folder.name.startswith("."))


def _images(path: Path) -> list[Path]:
    return [
        file
        for folder in _folders(path)
        for file in sorted(folder.iterdir())
        if file.suffix.lower() in _SUFFIXES and not file.name.startswith(".")
    ]
