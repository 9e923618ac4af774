"""Disks that fail, put in the place of the real one."""

import errno
import os
import re

from casper import files


class FullDisk(files.Disk):
    """Takes `room` writes and half of the next one, then no more: ENOSPC, as from a real one."""

    def __init__(self, room):
        self.room = room

    def write(self, file, data):
        self.room -= 1
        if self.room < 0:
            if self.room == -1:
                super().write(file, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(file, data)


class FailingAt(files.Disk):
    """Raises an error in the n-th call of any operation, counted from 0; `calls` tells how many there were."""

    def __init__(self, number, error=errno.EIO):
        self.number, self.error, self.calls = number, error, 0

    def _call(self):
        self.calls += 1
        if self.calls - 1 == self.number:
            raise OSError(self.error, os.strerror(self.error))

    def write(self, file, data):
        self._call()
        super().write(file, data)

    def sync(self, file):
        self._call()
        super().sync(file)

    def replace(self, source, target):
        self._call()
        super().replace(source, target)

    def remove(self, path):
        self._call()
        super().remove(path)

    def sync_directory(self, directory):
        self._call()
        super().sync_directory(directory)


def _name(path):
    """The name of a file without the random digits of a temporary one."""
    return re.sub(r"\.[0-9a-f]{16}\.tmp$", ".tmp", os.path.basename(path))


class Recording(files.Disk):
    """Notes every operation, in order."""

    def __init__(self):
        self.operations = []

    def write(self, file, data):
        self.operations.append(("write", _name(file.name), len(data)))
        super().write(file, data)

    def sync(self, file):
        self.operations.append(("sync", _name(file.name)))
        super().sync(file)

    def replace(self, source, target):
        self.operations.append(("replace", _name(source), target.name))
        super().replace(source, target)

    def remove(self, path):
        self.operations.append(("remove", path.name))
        super().remove(path)

    def sync_directory(self, directory):
        self.operations.append(("sync directory", directory.name))
        super().sync_directory(directory)
