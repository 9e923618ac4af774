"""Checkpoints: files that are written atomically and carry a checksum."""

import io
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from casper.files import read, write_whole

# PyTorch's files are zip archives; the checksum is stored in the comment of the archive, which every reader skips. The
# comment is at the end of the file, preceded by its length (two bytes).
_MARK = b"xxh3-128 "
_COMMENT = len(_MARK) + 32


class CheckpointError(ValueError):
    """A checkpoint cannot be used. The message is one line, written for the user.

    Example:
        >>> from casper.training import CheckpointError
        >>> try:
        ...     raise CheckpointError("last.pt is damaged")
        ... except CheckpointError as error:
        ...     print(error)
        last.pt is damaged
    """


def save_checkpoint(path: Path, state: Mapping[str, Any], *, keep_previous: bool = True) -> None:
    """Write a checkpoint atomically.

    Args:
        path: The path of the checkpoint.
        state: Nested dictionaries of tensors and plain values.
        keep_previous: Whether to rename the previous checkpoint to `*.previous.pt` instead of overwriting it.

    Example:
        >>> import pathlib, tempfile
        >>> from casper.training import save_checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_checkpoint(pathlib.Path(folder, "last.pt"), {"step": 1})
        ...     pathlib.Path(folder, "last.pt").exists()
        True
    """
    import torch

    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    buffer.seek(-2, io.SEEK_END)
    buffer.write(struct.pack("<H", _COMMENT))
    buffer.write(_comment(buffer.getbuffer()))
    write_whole(path, buffer.getbuffer(), keep=previous(path) if keep_previous else None)


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint. Only tensors and plain values are accepted, never code.

    Raises:
        CheckpointError: If the file is damaged or contains anything else.
        OSError: If the file cannot be read.

    Example:
        >>> import pathlib, tempfile
        >>> from casper.training import load_checkpoint, save_checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_checkpoint(pathlib.Path(folder, "last.pt"), {"step": 1})
        ...     load_checkpoint(pathlib.Path(folder, "last.pt"))
        {'step': 1}
    """
    import torch

    data = read(path)
    if data[-_COMMENT:] != _comment(memoryview(data)[:-_COMMENT]):
        raise CheckpointError(f"{path} is damaged: its checksum does not match")
    try:
        state = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except MemoryError:
        raise
    except Exception as error:  # not written by `save_checkpoint`: PyTorch may raise anything
        raise CheckpointError(f"{path} is not a checkpoint: it holds more than tensors and plain values") from error
    if not isinstance(state, dict):
        raise CheckpointError(f"{path} is not a checkpoint: it must hold a dictionary, but got {type(state).__name__}")
    return state


def previous(path: Path) -> Path:
    """Return the path of the previous checkpoint.

    Example:
        >>> from pathlib import Path
        >>> from casper.training import previous
        >>> previous(Path("last.pt")).name
        'last.previous.pt'
    """
    return path.with_suffix(".previous.pt")


def damaged(path: Path) -> Path:
    """Return the path to which a damaged checkpoint is moved.

    Example:
        >>> from pathlib import Path
        >>> from casper.training import damaged
        >>> damaged(Path("last.pt")).name
        'last.damaged.pt'
    """
    return path.with_suffix(".damaged.pt")


def _comment(data: memoryview) -> bytes:
    import xxhash

    return _MARK + xxhash.xxh3_128_hexdigest(data).encode()
