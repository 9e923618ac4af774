"""Checkpoints: one file, whole or not there."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch


def save_checkpoint(path: Path, state: Mapping[str, Any]) -> None:
    """Write a state under a temporary name and rename it; the checkpoint before stays as `*.previous.pt`."""
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        torch.save(dict(state), file)
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        os.replace(path, path.with_suffix(".previous.pt"))
    os.replace(temporary, path)


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint; only tensors and plain values are accepted, never code."""
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return state
