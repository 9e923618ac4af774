"""Atomic and durable writes: after a crash, a file is complete or unchanged."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

# Small enough that a write to a slow disk can be interrupted within a file.
_CHUNK = 2**20


class Disk:
    """The operations that write the files of a run to disk. Tests replace the instance to simulate failures."""

    def write(self, file: FileIO, data: memoryview) -> None:
        """Write all of the data; a disk that fills up may accept a part of it before it raises an error."""
        while data:
            data = data[file.write(data) :]

    def sync(self, file: FileIO) -> None:
        """Wait until the file's content is on the disk."""
        os.fsync(file.fileno())

    def replace(self, source: Path, target: Path) -> None:
        """Rename a file atomically and overwrite an existing target."""
        os.replace(source, target)

    def remove(self, path: Path) -> None:
        """Remove a file if it exists."""
        path.unlink(missing_ok=True)

    def sync_directory(self, directory: Path) -> None:
        """Wait until the entries of a directory are on the disk; not required where directories cannot be opened."""
        if os.name == "posix":
            descriptor = os.open(directory, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


disk = Disk()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Add the file name to an `OSError`; the error of a full disk has none."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def write_whole(path: Path, data: bytes | memoryview, *, keep: Path | None = None) -> None:
    """Write a file atomically: write a temporary file, sync it, rename it, and sync the directory.

    Args:
        path: The path of the file; its directory must exist.
        data: The content.
        keep: The path to which an existing file is renamed once the new one is complete. Default: it is overwritten.
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
    """Rename a file durably."""
    with _naming(source):
        disk.replace(source, target)
        disk.sync_directory(target.parent)


def remove(directory: Path, names: Iterable[str]) -> None:
    """Remove files of a directory durably; missing files are ignored."""
    for name in names:
        with _naming(directory / name):
            disk.remove(directory / name)
    with _naming(directory):
        disk.sync_directory(directory)


def make_directory(path: Path) -> None:
    """Create a directory and its missing parents durably."""
    if not path.is_dir():
        if path.parent != path:
            make_directory(path.parent)
        path.mkdir(exist_ok=True)
        disk.sync_directory(path.parent)


def aside(path: Path) -> Path:
    """Return the path of the temporary file of a write; one left by a killed process may be removed."""
    return path.with_name(f"{path.name}.tmp")


def append(path: Path, data: bytes) -> None:
    """Append to a file; if the write fails, the file is truncated to its previous size."""
    with _naming(path), FileIO(path, "a") as file:
        size = file.seek(0, os.SEEK_END)
        try:
            disk.write(file, memoryview(data))
        except BaseException:
            with suppress(OSError):
                file.truncate(size)
            raise


def sync(path: Path) -> None:
    """Wait until the appended data of a file is on the disk."""
    with _naming(path), FileIO(path, "a") as file:
        disk.sync(file)


def cut(path: Path, size: int) -> None:
    """Truncate a file to at most `size` bytes and to complete lines; a missing file becomes an empty one."""
    content = path.read_bytes()[:size] if path.exists() else b""
    write_whole(path, content[: content.rfind(b"\n") + 1])
