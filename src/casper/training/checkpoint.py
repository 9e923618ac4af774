"""Checkpoints: one file, whole or not there, that knows whether it has been altered."""

import io
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from casper.files import write_whole

# PyTorch's files are zip archives; the checksum is the archive's comment, which every reader skips. The comment is the
# last thing in the file, and its length (two bytes) the thing before it.
_MARK = b"xxh3-128 "
_COMMENT = len(_MARK) + 32


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message is one line, for the user."""


def save_checkpoint(path: Path, state: Mapping[str, Any], *, keep_previous: bool = True) -> None:
    """Write a state; the checkpoint before it becomes `*.previous.pt` when the new one is whole, or is replaced."""
    import torch

    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    buffer.seek(-2, io.SEEK_END)
    buffer.write(struct.pack("<H", _COMMENT))
    buffer.write(_comment(buffer.getbuffer()))
    write_whole(path, buffer.getbuffer(), keep=previous(path) if keep_previous else None)


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint; only tensors and plain values are accepted, never code.

    Raises:
        CheckpointError: If the file is not as it was written, or holds anything else.
        OSError: If it cannot be read.
    """
    import torch

    data = path.read_bytes()
    if data[-_COMMENT:] != _comment(memoryview(data)[:-_COMMENT]):
        raise CheckpointError(f"{path} is damaged: its checksum does not match")
    try:
        state = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except MemoryError:
        raise
    except Exception as error:  # whole, but never written by `save_checkpoint`: PyTorch may say anything
        raise CheckpointError(f"{path} must hold tensors and plain values alone, but it does not") from error
    if not isinstance(state, dict):
        raise CheckpointError(f"{path} must hold a state, but got {type(state).__name__}")
    return state


def previous(path: Path) -> Path:
    """Name the checkpoint before the latest."""
    return path.with_suffix(".previous.pt")


def damaged(path: Path) -> Path:
    """Name the place where a checkpoint that cannot be used is put aside."""
    return path.with_suffix(".damaged.pt")


def _comment(data: memoryview) -> bytes:
    import xxhash

    return _MARK + xxhash.xxh3_128_hexdigest(data).encode()
