"""Atomic and durable writes: after a crash, a file is complete or unchanged.

Nothing is written through a symbolic link: a directory may come from somebody else. Reading never waits for a pipe.
"""

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

# Small enough that a write to a slow disk can be interrupted within a file.
_CHUNK = 2**20
_A_DAY = 24 * 60 * 60
_TEMPORARY = re.compile(r"(.+?)(\.[0-9a-f]{16})?\.tmp")
# Not defined on every system.
_NO_FOLLOW, _NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)


class UnsafeFileError(OSError):
    """A path leads to a symbolic link, a pipe or a device where a file is required."""

    def __str__(self) -> str:
        return f"{self.filename} must be a file, but {self.strerror}; remove it"


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
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    view = memoryview(data)
    with _naming(path):
        check_plain(path)
        remove_stale(path, age=_A_DAY)
        try:
            with FileIO(temporary, "x", opener=_open_own) as file:
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


def is_temporary_of(name: str, *, plain: bool = False) -> str | None:
    """Return the name of the file that a temporary file was to become. Returns None if the name is of another file.

    Args:
        name: The name of a file.
        plain: Whether names without random digits count, as earlier versions wrote them.
    """
    found = _TEMPORARY.fullmatch(name)
    return found[1] if found and (found[2] or plain) else None


def remove_stale(path: Path, *, age: float = 0, plain: bool = False) -> None:
    """Remove temporary files of a path that killed processes left.

    Args:
        path: The path.
        age: The age in seconds of those that are removed, at least.
        plain: See `is_temporary_of`. A file `NAME.tmp` outside the directory of a run can be the user's.
    """
    with suppress(OSError):
        for entry in list(os.scandir(path.parent)):
            stale = is_temporary_of(entry.name, plain=plain) == path.name
            if stale and time.time() - entry.stat(follow_symlinks=False).st_mtime >= age:
                os.unlink(entry.path)


def check_plain(path: Path) -> None:
    """Raise `UnsafeFileError` if a path is a symbolic link, a pipe or a device; it may be missing."""
    with suppress(FileNotFoundError):
        if reason := _not_plain(os.lstat(path).st_mode):
            raise UnsafeFileError(errno.ELOOP, reason, str(path))


def _not_plain(mode: int) -> str | None:
    if stat.S_ISLNK(mode):
        return "it is a symbolic link"
    return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else "it is a pipe or a device"


def _open_own(name: str, flags: int) -> int:
    check_plain(Path(name))
    return os.open(name, flags | _NO_FOLLOW | _NO_WAIT, 0o666)


def read(path: Path, *, last: int | None = None, pipe: bool = False) -> bytes:
    """Read a file.

    Args:
        path: The path of the file.
        last: The number of bytes to read from the end. Default: all are read.
        pipe: Whether to accept a pipe, such as that of `<(command)` in a shell. One without a writer is empty.

    Raises:
        UnsafeFileError: If the path leads to a pipe that is not accepted, or to a device.
        OSError: If the file cannot be read.
    """
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "its name has a null character", str(path))
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _NO_WAIT)) as file:
        mode = os.fstat(file.fileno()).st_mode
        if (reason := _not_plain(mode)) and not (pipe and stat.S_ISFIFO(mode)):
            raise UnsafeFileError(errno.EINVAL, reason, str(path))
        if reason:
            os.set_blocking(file.fileno(), True)
        elif last is not None:
            file.seek(-min(last, os.fstat(file.fileno()).st_size), os.SEEK_END)
        return file.read()


def append(path: Path, data: bytes) -> None:
    """Append to a file; if the write fails, the file is truncated to its previous size."""
    with _naming(path), FileIO(path, "a", opener=_open_own) as file:
        size = file.seek(0, os.SEEK_END)
        try:
            disk.write(file, memoryview(data))
        except BaseException:
            with suppress(OSError):
                file.truncate(size)
            raise


def sync(path: Path) -> None:
    """Wait until the appended data of a file is on the disk."""
    with _naming(path), FileIO(path, "a", opener=_open_own) as file:
        disk.sync(file)


def cut(path: Path, size: int) -> None:
    """Truncate a file to at most `size` bytes and to complete lines; a missing file becomes an empty one."""
    check_plain(path)
    content = read(path)[:size] if path.exists() else b""
    write_whole(path, content[: content.rfind(b"\n") + 1])
