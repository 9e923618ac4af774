"""The environment of a run, which may explain a result: versions, machine, threads and command line."""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy
import torch

from casper.config.errors import brief


def describe_environment(device: str, data_dir: str | None = None) -> dict[str, Any]:
    """Describe the environment of a run, as `environment.json` stores it.

    Args:
        device: The device of the run.
        data_dir: The directory to search for data sets first.

    Example:
        >>> from casper.runs import describe_environment
        >>> describe_environment("cpu")["device"]
        'cpu'
    """
    return {
        "casper": metadata.version("casper-il"),
        "revision": _revision(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "platform": platform.platform(),
        "device": device,
        "processor": torch.cuda.get_device_name() if device.startswith("cuda") else platform.processor() or "cpu",
        "threads": torch.get_num_threads(),
        "data_dir": None if data_dir is None else os.path.abspath(data_dir),
        "command": sys.argv[1:],
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """List the differences between two environments that can change the last digits of a result."""
    decisive = [key for key in ("torch", "device", "processor", "threads") if key in before]
    changed = [key for key in decisive if before[key] != now[key]]
    return [f"{key} {brief(before[key])} then, {brief(now[key])} now" for key in changed]


def _revision() -> str | None:
    """Return the git revision of the code, with `+` if there are uncommitted changes, or None outside a checkout."""
    here = Path(__file__).parent
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty=+"],
            cwd=here,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip()
