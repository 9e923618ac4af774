"""Files that are whole or not there, whatever happens while they are written."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

# Small enough that a slow disk can be interrupted in the middle of a file.
_CHUNK = 2**20


class Disk:
    """The few operations through which a run's files reach the disk; put another one in place to see them fail."""

    def write(self, file: FileIO, data: memoryview) -> None:
        """Write all of the data; a full disk may take it in parts before it refuses."""
        while data:
            data = data[file.write(data) :]

    def sync(self, file: FileIO) -> None:
        """Wait until the file's content is on the disk."""
        os.fsync(file.fileno())

    def replace(self, source: Path, target: Path) -> None:
        """Give a file another name, in one move; a file of that name is gone then."""
        os.replace(source, target)

    def remove(self, path: Path) -> None:
        """Remove a file that may not be there."""
        path.unlink(missing_ok=True)

    def sync_directory(self, directory: Path) -> None:
        """Wait until the names in a directory are on the disk; where directories cannot be opened, names are safe."""
        if os.name == "posix":
            descriptor = os.open(directory, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


disk = Disk()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Have an error say which file it is about: a full disk does not."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def write_whole(path: Path, data: bytes | memoryview, *, keep: Path | None = None) -> None:
    """Write a file so that it is whole or as before: aside, synced, renamed, and the directory synced.

    Args:
        path: Where it goes; its directory exists.
        data: What it holds.
        keep: What a file that is there before is renamed to, once the new one is whole. Default: it is replaced.
    """
    temporary = aside(path)
    view = memoryview(data)
    with _naming(path):
        try:
            with FileIO(temporary, "w") as file:
                for start in range(0, len(view), _CHUNK):
                    disk.write(file, view[start : start + _CHUNK])
                disk.sync(file)
            if keep is not None and path.exists():
                disk.replace(path, keep)
            disk.replace(temporary, path)
            disk.sync_directory(path.parent)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise


def rename(source: Path, target: Path) -> None:
    """Give a file another name, for good."""
    with _naming(source):
        disk.replace(source, target)
        disk.sync_directory(target.parent)


def remove(directory: Path, names: Iterable[str]) -> None:
    """Remove files of a directory, for good; some may not be there."""
    for name in names:
        with _naming(directory / name):
            disk.remove(directory / name)
    with _naming(directory):
        disk.sync_directory(directory)


def make_directory(path: Path) -> None:
    """Make a directory and those above it that are missing, for good."""
    if not path.is_dir():
        if path.parent != path:
            make_directory(path.parent)
        path.mkdir(exist_ok=True)
        disk.sync_directory(path.parent)


def aside(path: Path) -> Path:
    """Name the file in which a new one grows; what a killed process leaves behind may be removed."""
    return path.with_name(f"{path.name}.tmp")


def append(path: Path, data: bytes) -> None:
    """Add to the end of a file, all or nothing."""
    with _naming(path), FileIO(path, "a") as file:
        size = file.seek(0, os.SEEK_END)
        try:
            disk.write(file, memoryview(data))
        except BaseException:
            with suppress(OSError):
                file.truncate(size)
            raise


def sync(path: Path) -> None:
    """Wait until what was appended to a file is on the disk."""
    with _naming(path), FileIO(path, "a") as file:
        disk.sync(file)


def cut(path: Path, size: int) -> None:
    """Cut a file to at most `size` bytes, and to whole lines; one that is not there is empty."""
    content = path.read_bytes()[:size] if path.exists() else b""
    write_whole(path, content[: content.rfind(b"\n") + 1])
