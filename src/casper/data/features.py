"""A cache of feature vectors on disk: those of every image are computed once, whichever tasks it belongs to."""

import io
import os
import random
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy
import torch
import xxhash
from torch import Tensor

from casper._repr import ShowsSettings
from casper.errors import DataError
from casper.files import read
from casper.types import ImageSet

# Images of one class whose vectors are one file: what a killed process has to compute again, some seconds of work.
_BLOCK = 250
_DIGEST = 16  # bytes of a checksum
_A_DAY = 24 * 60 * 60


class VectorCache(ShowsSettings):
    """The vectors that one function computes for images, in blocks of images of the same class.

    A block is a file, named by a checksum of its images and written atomically. Several processes may fill the cache at
    once: each takes the missing blocks in another order, and the first complete file of a block is used by all.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import torch
        >>> from casper import ImageSet
        >>> from casper.data import VectorCache
        >>> images = ImageSet(torch.ones(3, 1, 4, 4, dtype=torch.uint8), torch.tensor([0, 1, 0]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cache = VectorCache(Path(folder), lambda images: images.float().mean(dim=(2, 3)).half())
        ...     cache.missing(images), cache.fill(images), cache.missing(images)
        ...     cache.vectors(images).shape
        (3, None, 0)
        torch.Size([3, 1])
    """

    def __init__(self, directory: Path, compute: Callable[[Tensor], Tensor]) -> None:
        """Open the cache, which may not exist yet.

        Args:
            directory: The directory of the files.
            compute: Computes vectors of shape (n, d), float16, from uint8 images of shape (n, c, h, w).
        """
        self._directory, self._compute = directory, compute

    def missing(self, images: ImageSet) -> int:
        """Count the images without a file."""
        return sum(len(rows) for rows, path in self._blocks(images) if not path.exists())

    def fill(self, images: ImageSet, done: Callable[[int], object] = lambda images: None) -> None:
        """Compute the missing vectors.

        Args:
            images: The images.
            done: Called with the number of images of each block that was missing, after it exists.

        Raises:
            DataError: If the cache cannot be written.
        """
        absent = [(rows, path) for rows, path in self._blocks(images) if not path.exists()]
        if absent:
            self._remove_stale()
        # Another order in every process, without touching the random numbers of a run.
        random.Random(secrets.randbits(64)).shuffle(absent)
        for rows, path in absent:
            if not path.exists():  # by another process
                self._write(path, self._compute(images.images[rows]))
            done(len(rows))

    def vectors(self, images: ImageSet) -> Tensor:
        """Read the vectors of images, shape (n, d), float16; those that are missing or damaged are computed."""
        places, parts = [], []
        for rows, path in self._blocks(images):
            found = _read(path)
            if found is None or len(found) != len(rows):
                damaged = path.exists()
                computed = self._compute(images.images[rows]).cpu()
                self._write(path, computed, damaged=damaged)
                found = _read(path)  # of another process, if it was faster
                found = computed if found is None else found
            places.append(rows)
            parts.append(found)
        if not parts:
            return self._compute(images.images)
        vectors = torch.cat(parts)
        return torch.empty_like(vectors).index_copy_(0, torch.cat(places), vectors).to(images.images.device)

    def _blocks(self, images: ImageSet) -> Iterator[tuple[Tensor, Path]]:
        """Yield the rows and the file of each block: images of one class, in their order."""
        pixels, labels = images.images.cpu(), images.labels.cpu()
        for label in labels.unique():
            for rows in (labels == label).nonzero().squeeze(1).split(_BLOCK):
                block = pixels.index_select(0, rows)
                name = xxhash.xxh3_128(str(tuple(block.shape)).encode())
                name.update(block.numpy().data)
                yield rows, self._directory / f"{name.hexdigest()}.npy"

    def _remove_stale(self) -> None:
        """Remove what killed processes left a day ago or earlier."""
        with suppress(OSError):
            for file in self._directory.glob(f"*.npy.{'[0-9a-f]' * 16}.tmp"):
                if time.time() - file.lstat().st_mtime >= _A_DAY:
                    file.unlink()

    def _write(self, path: Path, vectors: Tensor, *, damaged: bool = False) -> None:
        """Write a block; unless the present file is damaged, that of a faster process stays."""
        buffer = io.BytesIO()
        numpy.save(buffer, vectors.cpu().numpy())
        content = buffer.getvalue()
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_bytes(content + _digest(path, content))
                if damaged:
                    os.replace(temporary, path)
                else:
                    _put(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            reason = f"{error.strerror or error}; set CASPER_CACHE to another directory"
            raise DataError(f"cannot write feature vectors to {path.parent}: {reason}") from error


def _digest(path: Path, content: bytes) -> bytes:
    """Compute the checksum of a block: of its name, too, so that a file with another name is none."""
    return xxhash.xxh3_128_digest(path.name.encode() + content)


def _put(temporary: Path, path: Path) -> None:
    """Give a complete file its name, unless another process was faster."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        os.replace(temporary, path)


def _read(path: Path) -> Tensor | None:
    """Read a block; returns None if it is missing or damaged."""
    try:
        whole = read(path)
        content, digest = whole[:-_DIGEST], whole[-_DIGEST:]
        if _digest(path, content) != digest:
            return None
        return torch.from_numpy(numpy.load(io.BytesIO(content), allow_pickle=False))
    except (EOFError, OSError, ValueError):
        return None
