"""Decoded once: arrays on disk, mapped into memory, checked before they are used."""

import hashlib
import json
import os
import shutil
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
from casper.errors import DataError, require
from casper.types import ImageSet

# Part of every entry's name: a change of what is stored, or of how images are decoded, makes all entries anew.
_FORMAT = 2
_ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")
_MOST_PIXELS = 4096
# Images whose pixels are counted at once, eight bytes each.
_AT_ONCE = 1000
_A_DAY = 24 * 60 * 60


@dataclass(frozen=True)
class DecodedSet:
    """A data set as tensors.

    Attributes:
        train: Its training images, labels 0..N-1.
        test: Its test images.
        class_names: The name of each label.
        mean: Per channel, of the training images, on the scale [0, 1].
        std: Per channel.
        about: One line on what there is: where from, how many, how large.
    """

    train: ImageSet
    test: ImageSet
    class_names: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    about: str


def cache_directory() -> Path:
    """Find where decoded images are kept: `CASPER_CACHE`, or the user's cache directory."""
    if chosen := os.environ.get("CASPER_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "casper"


def cache_entries() -> dict[str, tuple[int, bool]]:
    """List what is in the cache: the size of each entry in bytes, and whether it is whole."""
    directory = cache_directory()
    entries = [entry for entry in sorted(directory.glob("*")) if entry.is_dir() and not entry.name.startswith(".")]
    return {
        entry.name: (sum(file.stat().st_size for file in entry.iterdir()), _open(entry) is not None)
        for entry in entries
    }


def load(source: Source, *, image_size: int | None = None, channels: int | None = None) -> DecodedSet:
    """Open a data set: from the cache where it is whole and its source has not changed, else decoded anew.

    Any number of processes may do this at once: an entry is made aside, and takes its place in one move.

    Args:
        source: Where the images come from.
        image_size: The height and width to bring them to. Default: as they are.
        channels: 1 or 3, to have them grey or in colour. Default: grey where all are stored so, else colour.

    Raises:
        DataError: If the source cannot be used, or the cache cannot be written.
    """
    require(image_size is None or 1 <= image_size <= _MOST_PIXELS, "image_size", f"in 1..{_MOST_PIXELS}", image_size)
    require(channels in (None, 1, 3), "channels", "1 (grey) or 3 (colour)", channels)
    key = of_values(_FORMAT, source.fingerprint, image_size, channels)[:16]
    slug = "".join(letter if letter.isalnum() else "-" for letter in Path(source.title).name)[:60]
    entry = cache_directory() / f"{slug}-{key}"
    found = _open(entry)
    if found is None:
        train, test, names = train_and_test(source.read(), source.title)
        try:
            _build(source.title, train, test, names, image_size, channels, entry)
        except OSError as error:
            reason = f"{error.strerror or error}; choose another place with CASPER_CACHE"
            raise DataError(f"{entry.parent} cannot hold the decoded images: {reason}") from error
        found = _open(entry)
    if found is None:
        raise DataError(f"{entry} changes while it is read; is something else writing there?")
    arrays, facts = found
    return _as_tensors(arrays, facts, source.title)


def _open(entry: Path) -> tuple[dict[str, numpy.ndarray[Any, Any]], dict[str, Any]] | None:
    """Map an entry's arrays; None: there is none, or it is not what was written."""
    try:
        checked = json.loads((entry / "facts.json").read_text("utf-8"))
        facts = checked["facts"]
        if of_values(json.dumps(facts)) != checked["checksum"]:
            return None
        # Copy on write: PyTorch wants arrays it may write to, and the file must never change.
        arrays = {name: numpy.load(entry / f"{name}.npy", mmap_mode="c") for name in _ARRAYS}
        whole = all(_checksum(array) == facts["checksums"][name] for name, array in arrays.items())
    except (OSError, ValueError, KeyError, TypeError, EOFError):
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
    """Write the arrays; returns their checksums and the training images' statistics.

    No array stays mapped: a directory with open files cannot be moved everywhere.
    """
    facts: dict[str, Any] = {"checksums": {}}
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
    """Take the space on the disk now: a full disk is an error here, and the end of the process in a mapped array."""
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


@contextmanager
def _aside(entry: Path) -> Iterator[Path]:
    """Lend a directory of one's own, and put it into the entry's place at the end; the first to be whole wins."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    for old in entry.parent.glob(f".{entry.name}.*"):  # of builds that were killed
        with suppress(FileNotFoundError):  # or are just done
            if time.time() - old.stat().st_mtime > _A_DAY:
                _remove(old)
    temporary = entry.parent / f".{entry.name}.{os.getpid()}.{time.monotonic_ns()}"
    damaged = temporary.with_name(f"{temporary.name}.damaged")
    temporary.mkdir()
    try:
        yield temporary
        if _open(entry) is None:
            if os.path.lexists(entry):
                entry.rename(damaged)
            temporary.rename(entry)
    except OSError:
        if _open(entry) is None:  # else somebody was quicker
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
    """Compute each channel's mean and standard deviation on the scale [0, 1], exactly, from its histogram."""
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


def of_files(paths: Iterable[Path], extra: Sequence[object] = ()) -> str:
    """Hash the names, sizes and times of change of files: quick, and different when a file was replaced."""
    described = []
    for path in paths:
        try:
            status = os.stat(path)
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from error
        described.append((os.path.abspath(path), status.st_size, status.st_mtime_ns))
    return of_values(*described, *extra)


def of_values(*values: object) -> str:
    """Hash plain values."""
    return hashlib.sha256(repr(values).encode(errors="surrogateescape")).hexdigest()
