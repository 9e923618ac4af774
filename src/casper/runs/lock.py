"""One process at a time in a run's directory."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from casper.config.errors import ConfigError
from casper.files import make_directory

LOCK_FILES = (".lock", ".owner")


class RunInUseError(ConfigError):
    """A run that another process is making."""


@contextmanager
def run_lock(directory: Path) -> Iterator[None]:
    """Make the directory where it is not there, and hold its lock.

    The system releases it when this process ends, in whatever way.

    Raises:
        RunInUseError: If another process holds it, whom the message names.
        ConfigError: If the directory cannot be written.
    """
    lock, owner = (directory / name for name in LOCK_FILES)
    holder = _system_lock(lock)
    try:
        make_directory(directory)
        holder.acquire()
        owner.write_text(f"process {os.getpid()} on {platform.node()}\n", "utf-8")
    except Timeout as error:
        raise RunInUseError(f"run directory {directory} is in use by {_name(owner)}; wait for it or stop it") from error
    except OSError as error:
        raise ConfigError(f"run directory {directory} cannot be written: {error.strerror}") from error
    try:
        yield
    finally:
        holder.release()


def lock_owner(directory: Path) -> str | None:
    """Name the process that holds a directory's lock; None: nobody does."""
    lock, owner = (directory / name for name in LOCK_FILES)
    if not lock.exists():
        return None
    try:
        with _system_lock(lock):
            return None
    except Timeout:
        return _name(owner)
    except OSError:  # a place that cannot be written, by this process: nobody is seen to hold it
        return None


def _system_lock(path: Path) -> BaseFileLock:
    """Make the lock, not held yet; never one of a kind that outlives its process."""
    return FileLock(path, timeout=0, fallback_to_soft=False)


def _name(owner: Path) -> str:
    """Read who holds the lock; it may just be about to write its name."""
    try:
        return " ".join(owner.read_text("utf-8", errors="replace").split())[:100] or "another process"
    except OSError:
        return "another process"
