"""Images and labels in one NumPy file."""

import math
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from casper.data.cache import of_files
from casper.data.dataset import RawSet, Source, Split
from casper.data.limits import ROW_SIZE, check_decoded_size
from casper.errors import DataError

if TYPE_CHECKING:
    from PIL.Image import Image

_ARRAYS = ("x_train", "y_train", "x_test", "y_test")
_LONGEST_HEADER = 10_000  # bytes, as in NumPy, which reads the whole header before it checks its length
_HEADERS = {(1, 0): numpy.lib.format.read_array_header_1_0, (2, 0): numpy.lib.format.read_array_header_2_0}


class NpzFile(Source):
    """A file with `x_train`, `y_train`, `x_test`, `y_test`; images are uint8, (n, h, w) or (n, h, w, 1 or 3).

    Example:
        >>> import numpy, pathlib, tempfile
        >>> from casper.data import NpzFile
        >>> images, labels = numpy.zeros((4, 8, 8), dtype=numpy.uint8), numpy.arange(4) % 2
        >>> with tempfile.TemporaryDirectory() as path:
        ...     numpy.savez(f"{path}/data.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
        ...     NpzFile(pathlib.Path(path, "data.npz")).read().splits["train"].labels
        [0, 1, 0, 1]
    """

    def __init__(self, path: Path) -> None:
        self.title = str(path)
        self._path = path
        if not path.is_file():
            raise DataError(f"npz:{path}: no such file; expected one with the arrays {', '.join(_ARRAYS)}")
        self.fingerprint = of_files([path])

    def read(self) -> RawSet:
        """Load the arrays, if their headers are those of arrays within the limit (see `check_decoded_size`)."""
        try:
            with zipfile.ZipFile(self._path) as archive:
                found = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
                if missing := [name for name in _ARRAYS if name not in found]:
                    raise DataError(f"{self._path}: no array {missing[0]!r}; found {', '.join(found) or 'nothing'}")
                for part in ("train", "test"):
                    check_decoded_size(_allocated(archive, part), f"{self._path}: x_{part} and y_{part}")
                arrays = {name: _loaded(archive, name) for name in _ARRAYS}
        except DataError:
            raise
        except Exception as error:  # zipfile and NumPy raise many kinds of errors for damaged archives and headers
            if isinstance(error, OSError) and error.strerror:
                raise DataError(f"{self._path} cannot be read: {error.strerror}") from error
            if isinstance(error, zipfile.BadZipFile) and _is_array(self._path):
                raise DataError(f"{self._path}: a single array; expected an archive of {', '.join(_ARRAYS)}") from error
            wanted = "an archive of arrays, as numpy.savez writes it"
            raise DataError(f"{self._path} must be {wanted}, but is damaged or contains Python objects") from error
        return RawSet({part: self._split(part, arrays[f"x_{part}"], arrays[f"y_{part}"]) for part in ("train", "test")})

    def _split(self, part: str, images: numpy.ndarray[Any, Any], labels: numpy.ndarray[Any, Any]) -> Split:
        if images.dtype != numpy.uint8:
            raise DataError(f"{self._path}: x_{part} must be uint8 (0 to 255), but got {images.dtype}")
        fits = (images.ndim == 3 or (images.ndim == 4 and images.shape[3] in (1, 3))) and min(images.shape[1:3]) > 0
        if not fits:
            wanted = "(n, h, w), (n, h, w, 1) or (n, h, w, 3)"
            raise DataError(f"{self._path}: x_{part} must have shape {wanted}, but got {images.shape}")
        labels = labels.squeeze(1) if labels.ndim == 2 and labels.shape[1] == 1 else labels
        if labels.shape != images.shape[:1] or labels.dtype.kind not in "iuU":
            wanted = f"{len(images)} integers or strings"
            raise DataError(f"{self._path}: y_{part} must be {wanted}, but got {labels.dtype} of shape {labels.shape}")
        if images.ndim == 4 and images.shape[3] == 1:
            images = images[..., 0]

        def open_row(row: int) -> "Image":
            from PIL import Image

            return Image.fromarray(images[row])

        return Split(labels.tolist(), open_row, lambda row: f"{self._path} x_{part}[{row}]")


def _allocated(archive: zipfile.ZipFile, part: str) -> int:
    """Compute what images and labels take in memory from the headers of their arrays; no data is decompressed."""
    size = 0
    for name in (f"x_{part}", f"y_{part}"):
        with archive.open(f"{name}.npy") as file:
            version = numpy.lib.format.read_magic(file)
            if int.from_bytes(file.read(2 if version == (1, 0) else 4), "little") > _LONGEST_HEADER:
                raise ValueError("the header is too long")
        with archive.open(f"{name}.npy") as file:
            shape, _, dtype = _HEADERS[numpy.lib.format.read_magic(file)](file)
        size += math.prod(shape) * max(dtype.itemsize, 1)
        size += shape[0] * ROW_SIZE if name == f"x_{part}" and shape else 0
    return size


def _loaded(archive: zipfile.ZipFile, name: str) -> numpy.ndarray[Any, Any]:
    with archive.open(f"{name}.npy") as file:
        array: numpy.ndarray[Any, Any] = numpy.lib.format.read_array(file, allow_pickle=False)
    return array


def _is_array(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(numpy.lib.format.MAGIC_PREFIX)) == numpy.lib.format.MAGIC_PREFIX
