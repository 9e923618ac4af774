"""A cache of decoded data sets: arrays on disk, mapped into memory and verified by checksums."""

import hashlib
import json
import math
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch

from casper.data.dataset import LabelledSplit, Source, train_and_test
from casper.data.decode import ColourFound, Layout, decode, first_layout
from casper.data.limits import check_decoded_size
from casper.errors import DataError, require
from casper.files import read
from casper.types import ImageSet

# Part of the name of every entry: increase it when the stored data or the decoding changes.
_FORMAT = 2
_ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")
_MOST_PIXELS = 4096
# The number of images whose pixels are counted at once, with eight bytes per pixel.
_AT_ONCE = 1000
_A_DAY = 24 * 60 * 60


@dataclass(frozen=True)
class DecodedSet:
    """A data set as tensors.

    Attributes:
        train: The training images, labels 0..N-1.
        test: The test images.
        class_names: The name of each label.
        mean: The mean of each channel of the training images, on the scale [0, 1].
        std: The standard deviation of each channel.
        about: A description in one line: origin, number and size of the images.

    Example:
        >>> import torch
        >>> from casper import ImageSet
        >>> from casper.data import DecodedSet
        >>> images = ImageSet(torch.zeros(2, 1, 8, 8, dtype=torch.uint8), torch.tensor([0, 1]))
        >>> data = DecodedSet(images, images, ("cat", "dog"), mean=(0.0,), std=(0.0,), about="two black images")
        >>> data.class_names, len(data.train)
        (('cat', 'dog'), 2)
    """

    train: ImageSet
    test: ImageSet
    class_names: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    about: str


def cache_directory() -> Path:
    """Return the directory of decoded images: `CASPER_CACHE`, or the user's cache directory.

    Raises:
        DataError: If the user has no home directory.

    Example:
        >>> from unittest import mock
        >>> from casper.data import cache_directory
        >>> with mock.patch.dict("os.environ", CASPER_CACHE="decoded"):
        ...     str(cache_directory())
        'decoded'
    """
    if chosen := os.environ.get("CASPER_CACHE"):
        return Path(chosen)
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen) / "casper"
    try:
        return Path.home() / ".cache" / "casper"
    except RuntimeError as error:
        raise DataError("decoded images have no place: there is no home directory; set CASPER_CACHE") from error


def vector_cache_directory() -> Path:
    """Return the directory of all feature vectors, within that of decoded images.

    Example:
        >>> from unittest import mock
        >>> from casper.data import vector_cache_directory
        >>> with mock.patch.dict("os.environ", CASPER_CACHE="cache"):
        ...     vector_cache_directory().parts
        ('cache', 'features')
    """
    return cache_directory() / "features"


def cache_entries() -> dict[str, tuple[int, bool]]:
    """List the data sets in the cache: the size in bytes, and whether the entry is intact.

    Example:
        >>> import os, tempfile
        >>> from unittest import mock
        >>> from casper.data import cache_entries
        >>> with tempfile.TemporaryDirectory() as path, mock.patch.dict("os.environ", CASPER_CACHE=path):
        ...     os.mkdir(f"{path}/mnist-0")  # an entry without its files
        ...     cache_entries()
        {'mnist-0': (0, False)}
    """
    found = [entry for entry in sorted(cache_directory().glob("*")) if entry.is_dir()]
    entries = [entry for entry in found if entry != vector_cache_directory() and not entry.name.startswith(".")]
    return {
        entry.name: (sum(file.lstat().st_size for file in entry.iterdir()), _open(entry) is not None)
        for entry in entries
    }


def load(source: Source, *, image_size: int | None = None, channels: int | None = None) -> DecodedSet:
    """Load a data set from the cache, or decode it if the cache entry is missing, damaged or out of date.

    Several processes may do this at once: an entry is built in a temporary directory and renamed at the end.

    Args:
        source: The source of the images.
        image_size: The height and width to scale images to. Default: unchanged.
        channels: 1 for greyscale or 3 for colour. Default: greyscale if all images are, else colour.

    Raises:
        DataError: If the source cannot be used, or the cache cannot be written.

    Example:
        >>> import os, tempfile
        >>> from pathlib import Path
        >>> import numpy
        >>> from casper.data import NpzFile, load
        >>> images, labels = numpy.zeros((6, 8, 8), dtype=numpy.uint8), numpy.arange(6) % 2
        >>> with tempfile.TemporaryDirectory() as path:
        ...     os.environ["CASPER_CACHE"] = f"{path}/cache"  # only here, to leave no files behind
        ...     numpy.savez(f"{path}/data.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
        ...     data = load(NpzFile(Path(path) / "data.npz"))
        ...     data.train.images.shape, data.class_names
        ...     _ = os.environ.pop("CASPER_CACHE")
        (torch.Size([6, 1, 8, 8]), ('0', '1'))
    """
    require(image_size is None or 1 <= image_size <= _MOST_PIXELS, "image_size", f"in [1, {_MOST_PIXELS}]", image_size)
    require(channels in (None, 1, 3), "channels", "1 (grey) or 3 (colour)", channels)
    key = of_values(_FORMAT, source.fingerprint, image_size, channels)[:16]
    entry = cache_directory() / f"{slug(Path(source.title).name)}-{key}"
    found = _open(entry)
    if found is None:
        train, test, names = train_and_test(source.read(), source.title)
        try:
            _build(source.title, train, test, names, image_size, channels, entry)
        except OSError as error:
            reason = f"{error.strerror or error}; set CASPER_CACHE to another directory"
            raise DataError(f"cannot write the decoded images to {entry.parent}: {reason}") from error
        found = _open(entry)
    if found is None:
        raise DataError(f"{entry} changed while it was read; check whether another program writes to it")
    arrays, facts = found
    return _as_tensors(arrays, facts, source.title)


def _open(entry: Path) -> tuple[dict[str, numpy.ndarray[Any, Any]], dict[str, Any]] | None:
    """Map the arrays of an entry; returns None if it is missing or damaged."""
    try:
        checked = json.loads(read(entry / "facts.json").decode())
        facts = checked["facts"]
        if of_values(json.dumps(facts)) != checked["checksum"]:
            return None
        # Copy on write: PyTorch requires writable arrays, and the file must never change.
        if not all((entry / f"{name}.npy").is_file() for name in _ARRAYS):
            return None
        arrays = {name: numpy.load(entry / f"{name}.npy", mmap_mode="c") for name in _ARRAYS}
        whole = all(_checksum(array) == facts["checksums"][name] for name, array in arrays.items())
    except Exception:  # NumPy raises many kinds of errors for damaged headers
        return None
    return (arrays, facts) if whole else None


def _build(
    title: str,
    train: LabelledSplit,
    test: LabelledSplit,
    names: Sequence[str],
    image_size: int | None,
    channels: int | None,
    entry: Path,
) -> None:
    layout = first_layout(train, image_size, channels)
    with _aside(entry) as temporary:
        try:
            facts = _decoded(train, test, layout, temporary, title)
        except ColourFound:
            facts = _decoded(train, test, layout.in_colour(), temporary, title)
        facts = {"class_names": list(names), **facts}
        checked = {"facts": facts, "checksum": of_values(json.dumps(facts))}
        (temporary / "facts.json").write_text(json.dumps(checked), "utf-8")


def _decoded(train: LabelledSplit, test: LabelledSplit, layout: Layout, directory: Path, title: str) -> dict[str, Any]:
    """Write the arrays; returns their checksums and the statistics of the training images.

    No array stays mapped, because some systems cannot rename a directory with open files.
    """
    facts: dict[str, Any] = {"checksums": {}}
    for part, split in (("train", train), ("test", test)):
        check_decoded_size(len(split.labels) * math.prod(layout.shape), f"{title} ({part})")
    for part, split in (("train", train), ("test", test)):
        path = directory / f"{part}_images.npy"
        images = numpy.lib.format.open_memmap(
            path, mode="w+", dtype=numpy.uint8, shape=(len(split.labels), *layout.shape)
        )
        _reserve(path)
        decode(split, layout, images, f"{title} ({part})")
        images.flush()
        labels = split.labels.numpy()
        numpy.save(directory / f"{part}_labels.npy", labels)
        facts["checksums"] |= {f"{part}_images": _checksum(images), f"{part}_labels": _checksum(labels)}
        if part == "train":
            facts["mean"], facts["std"] = _statistics(images)
    return facts


def _reserve(path: Path) -> None:
    """Reserve the disk space: a full disk raises an error here, but would kill the process in a mapped array."""
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


@contextmanager
def _aside(entry: Path) -> Iterator[Path]:
    """Yield a temporary directory and rename it to the entry at the end; the first complete one wins."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    for old in entry.parent.glob(f".{entry.name}.*"):  # from builds that were killed
        with suppress(FileNotFoundError):  # or have just finished
            if time.time() - old.stat().st_mtime > _A_DAY:
                _remove(old)
    temporary = entry.parent / f".{entry.name}.{secrets.token_hex(8)}"
    damaged = temporary.with_name(f"{temporary.name}.damaged")
    temporary.mkdir()
    try:
        yield temporary
        if _open(entry) is None:
            if os.path.lexists(entry):
                entry.rename(damaged)
            temporary.rename(entry)
    except OSError:
        if _open(entry) is None:  # else another process was faster
            raise
    finally:
        _remove(temporary)
        _remove(damaged)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _checksum(array: numpy.ndarray[Any, Any]) -> str:
    import xxhash

    return f"{array.dtype} {array.shape} {xxhash.xxh3_128_hexdigest(array.data.cast('B'))}"


def _statistics(images: numpy.ndarray[Any, Any]) -> tuple[list[float], list[float]]:
    """Compute the exact mean and standard deviation of each channel on the scale [0, 1] from its histogram."""
    counts = numpy.zeros((images.shape[1], 256), dtype=numpy.int64)
    for start in range(0, len(images), _AT_ONCE):
        for channel, row in enumerate(counts):
            row += numpy.bincount(images[start : start + _AT_ONCE, channel].reshape(-1), minlength=256)
    values = numpy.arange(256) / 255
    total = counts[0].sum()
    means = counts @ values / total
    deviations = numpy.sqrt((counts * (values - means[:, None]) ** 2).sum(1) / total)
    return means.tolist(), deviations.tolist()


def _as_tensors(arrays: dict[str, numpy.ndarray[Any, Any]], facts: dict[str, Any], title: str) -> DecodedSet:
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    train = ImageSet(tensors["train_images"], tensors["train_labels"])
    test = ImageSet(tensors["test_images"], tensors["test_labels"])
    height, width = train.images.shape[-2:]
    kind = "grey" if train.images.shape[1] == 1 else "colour"
    about = (
        f"{title}: {len(facts['class_names'])} classes with {_per_class(train)} training and {_per_class(test)} test "
        f"images each, {height}x{width}, {kind}"
    )
    names = tuple(facts["class_names"])
    return DecodedSet(train, test, names, tuple(facts["mean"]), tuple(facts["std"]), about)


def _per_class(images: ImageSet) -> str:
    counts = images.labels.bincount()
    least, most = int(counts.min()), int(counts.max())
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def slug(title: str) -> str:
    """Convert a title to a part of a file name."""
    return "".join(letter if letter.isalnum() else "-" for letter in title)[:60]


def of_files(paths: Iterable[Path], extra: Sequence[object] = ()) -> str:
    """Hash the names, sizes and modification times of files: fast, and different if a file was replaced."""
    described = []
    for path in paths:
        try:
            status = os.stat(path)
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from error
        if not stat.S_ISREG(status.st_mode):  # reading a pipe would wait forever
            raise DataError(f"{path} must be a file, but is a directory, a pipe or a device")
        described.append((os.path.abspath(path), status.st_size, status.st_mtime_ns))
    return of_values(*described, *extra)


def of_values(*values: object) -> str:
    """Hash plain values."""
    return hashlib.sha256(repr(values).encode(errors="surrogateescape")).hexdigest()
