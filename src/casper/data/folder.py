"""Image folders with one folder per class."""

from pathlib import Path
from typing import TYPE_CHECKING

from casper.data.cache import of_files
from casper.data.dataset import TEST_NAMES, RawSet, Source, Split
from casper.data.decode import open_image
from casper.errors import DataError

if TYPE_CHECKING:
    from PIL.Image import Image

_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"})


class ImageFolder(Source):
    """A folder `PATH/{train,test}/CLASS/*.png`, or `PATH/CLASS/*.png` without a split.

    Files are read in the order of their names, including those in subfolders of a class. Hidden files and files without
    an image suffix are ignored.

    Example:
        >>> import pathlib, tempfile
        >>> from casper.data import ImageFolder
        >>> with tempfile.TemporaryDirectory() as path:
        ...     pathlib.Path(path, "cat").mkdir()
        ...     pathlib.Path(path, "cat", "1.png").touch()
        ...     ImageFolder(pathlib.Path(path)).read().splits["all"].labels
        ['cat']
    """

    def __init__(self, path: Path) -> None:
        self.title = str(path)
        if not path.is_dir():
            layouts = f"{path}/CLASS, or in {path}/train/CLASS and {path}/test/CLASS"
            raise DataError(f"folder:{path}: no such directory; expected images in {layouts}")
        try:
            self._files = _found(path)
        except OSError as error:
            raise DataError(f"folder:{path}: {error.filename} cannot be read: {error.strerror}") from error
        self.fingerprint = of_files(file for classes in self._files.values() for _, file in classes)

    def read(self) -> RawSet:
        """List the files."""
        return RawSet({name: _split(classes) for name, classes in self._files.items()})


def _found(path: Path) -> dict[str, list[tuple[str, Path]]]:
    """Find the images of each split with their classes."""
    folders = {folder.name.lower(): folder for folder in _folders(path)}
    test = next((folders[name] for name in TEST_NAMES if name in folders), None)
    if "train" in folders and test is not None:
        return {"train": _images(folders["train"]), "test": _images(test)}
    if "train" in folders and _folders(folders["train"]):
        return {"all": _images(folders["train"])}
    return {"all": _images(path)}


def _split(images: list[tuple[str, Path]]) -> Split:
    def open_row(row: int) -> "Image":
        return open_image(images[row][1])

    return Split([name for name, _ in images], open_row, lambda row: str(images[row][1]))


def _folders(path: Path) -> list[Path]:
    return sorted(folder for folder in path.iterdir() if folder.is_dir() and not folder.name.startswith("."))


def _images(path: Path) -> list[tuple[str, Path]]:
    """List the images of a split with their class, which is the name of the folder in `path`."""
    images = []
    for folder in _folders(path):
        files = [
            (folder.name, file)
            for file in sorted(folder.rglob("*"))
            if file.suffix.lower() in _SUFFIXES and not file.name.startswith(".")
        ]
        if not files:
            raise DataError(f"{folder}: no images of this class; expected {', '.join(sorted(_SUFFIXES))}")
        images += files
    if not images:
        raise DataError(f"{path}: no folders of images; expected one folder per class")
    return images
