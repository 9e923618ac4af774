"""Sweep files: one YAML file that describes many runs."""

import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from casper.config.errors import ConfigError, brief
from casper.config.options import RunConfig, flattened
from casper.config.resolve import resolve_config
from casper.config.yaml import read_layout, read_preset
from casper.formatting import printable

MOST_RUNS = 10_000


def read_sweep(path: Path) -> list[RunConfig]:
    """Read the configurations of a sweep file.

    The keys of the file are the options of `casper run`, which all runs share, `runs:` and `grid:`. Every entry of
    `runs:` (a list of mappings) adds options to the shared ones. `grid:` (a mapping of keys to lists) is expanded to
    all combinations of its values, for every entry of `runs:`. Both are optional. The path of a `preset:` is relative
    to the file; a `title:` is for reports.

    Raises:
        ConfigError: If the file cannot be read, or the configuration of a run is not valid.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from casper.sweeps import read_sweep
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "sweep.yaml"
        ...     _ = file.write_text("stream: split-digits\\ngrid: {method: [er, er-ace], seed: [0, 1, 2]}")
        ...     len(read_sweep(file))
        6
    """
    layout = read_layout(path)
    try:
        return expand(layout, path.parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def sweep_title(path: Path) -> str:
    """Return the title of a sweep file, or the file's name without its suffix if it has none. Raises `ConfigError`.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from casper.sweeps import sweep_title
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "seeds.yaml"
        ...     _ = file.write_text("grid: {seed: [0, 1]}")
        ...     sweep_title(file)
        'seeds'
    """
    return str(read_layout(path).get("title", path.stem))


def expand(layout: Mapping[str, Any], folder: Path = Path()) -> list[RunConfig]:
    """Resolve every run of a sweep, in the order of the file, without duplicates.

    Args:
        layout: The content of a sweep file; see `read_sweep`.
        folder: The folder to which the path of a preset is relative.

    Raises:
        ConfigError: If the configuration of a run is not valid.

    Example:
        >>> from casper.sweeps import expand
        >>> configs = expand({"method": "er", "grid": {"buffer_size": [50, 100]}})
        >>> [config.options.buffer_size for config in configs]
        [50, 100]
    """
    common = {key: value for key, value in layout.items() if key not in ("title", "runs", "grid")}
    configs: dict[str, RunConfig] = {}
    for chosen in _combinations(layout):
        values = {**flattened(common), **chosen}
        preset = values.pop("preset", None)
        try:
            if not isinstance(preset, str | None):
                raise ConfigError(f"preset must be the name of a file, but got {brief(preset)}")
            config = resolve_config({}, values, read_preset(folder / preset) if preset else None)
        except ConfigError as error:
            which = printable(", ".join(f"{key} {brief(value)}" for key, value in chosen.items()))
            raise ConfigError(f"{error} (in the run with {which})" if which else str(error)) from error
        if configs.setdefault(config.name, config) != config:
            raise ConfigError(f"different runs must have different names, but two have the name {config.name}")
    return list(configs.values())


def _combinations(layout: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the values in which each run differs from the shared ones, by dotted key."""
    runs, grid = layout.get("runs", [{}]), layout.get("grid", {})
    common = {key: value for key, value in layout.items() if key not in ("title", "runs", "grid")}
    if not isinstance(runs, list) or not runs or not all(isinstance(run, dict) for run in runs):
        raise ConfigError(f"runs must be a list of one or more mappings, but got {brief(runs)}")
    if not isinstance(grid, dict):
        raise ConfigError(f"grid must be a mapping of keys to lists, but got {brief(grid)}")
    axes = flattened(grid)
    for key, values in axes.items():
        if not isinstance(values, list) or not values:
            raise ConfigError(f"grid {printable(key)} must be a list of one or more values, but got {brief(values)}")
    count = math.prod(map(len, axes.values())) * len(runs)
    if count > MOST_RUNS:
        raise ConfigError(f"a sweep must have at most {MOST_RUNS:,} runs, but got {count:,}")
    if twice := sorted(flattened(common).keys() & axes.keys()):
        raise ConfigError(f"{printable(twice[0])} must be given once, but is in grid and outside it")
    for run in map(flattened, runs):
        if twice := sorted(run.keys() & axes.keys()):
            raise ConfigError(f"{printable(twice[0])} must be given once, but is in grid and in runs")
        for values in itertools.product(*axes.values()):
            yield {**run, **dict(zip(axes, values, strict=True))}
