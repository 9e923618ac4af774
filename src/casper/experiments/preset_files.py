"""Settings of one's own, for any run: a preset in a file."""

from pathlib import Path
from typing import Any

from casper.experiments.config import flattened
from casper.experiments.yaml_files import read_layout

# Values by dotted key, and what `config.yaml` says about their origin.
Preset = tuple[dict[str, Any], str]


def read_preset(path: Path) -> Preset:
    """Read a preset: options and hyper-parameters as in `config.yaml`, as many as there are. Raises `ConfigError`."""
    return flattened(read_layout(path)), f"preset {path.name}"
