"""The lock of a run's directory: only one process at a time may execute a run."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from casper.config.errors import ConfigError
from casper.files import UnsafeFileError, check_plain, make_directory, read

LOCK_FILES = (".lock", ".owner")


class RunInUseError(ConfigError):
    """Another process is executing the run."""


@contextmanager
def run_lock(directory: Path) -> Iterator[None]:
    """Create the directory if it does not exist, and hold its lock.

    The operating system releases the lock when this process ends, even if it is killed.

    Raises:
        RunInUseError: If another process holds the lock; the message names the process.
        ConfigError: If the directory cannot be written.
    """
    lock, owner = (directory / name for name in LOCK_FILES)
    holder = _system_lock(lock)
    try:
        make_directory(directory)
        for file in (lock, owner):
            check_plain(file)
        holder.acquire()
        owner.unlink(missing_ok=True)
        with owner.open("x", encoding="utf-8") as text:  # a new file: nothing is written through a link
            text.write(f"process {os.getpid()} on {platform.node()}\n")
    except Timeout as error:
        raise RunInUseError(f"run directory {directory} is in use by {_name(owner)}; wait for it or stop it") from error
    except UnsafeFileError as error:
        raise ConfigError(str(error)) from error
    except OSError as error:
        raise ConfigError(f"run directory {directory} cannot be written: {error.strerror}") from error
    try:
        yield
    finally:
        holder.release()


def lock_owner(directory: Path) -> str | None:
    """Return the name of the process that holds a directory's lock. Returns None if the lock is free."""
    lock, owner = (directory / name for name in LOCK_FILES)
    if not lock.exists():
        return None
    try:
        with _system_lock(lock):
            return None
    except Timeout:
        return _name(owner)
    except OSError:  # this process cannot write the directory, so it cannot check the lock
        return None


def _system_lock(path: Path) -> BaseFileLock:
    """Create the lock, not yet held, of a kind that is released when its process ends."""
    return FileLock(path, timeout=0, fallback_to_soft=False)


def _name(owner: Path) -> str:
    """Read the name of the process that holds the lock, which may not have written it yet."""
    try:
        return " ".join(read(owner).decode(errors="replace").split())[:100] or "another process"
    except OSError:
        return "another process"
