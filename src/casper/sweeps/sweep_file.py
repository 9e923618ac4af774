"""From one file to many runs."""

import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from casper.config.errors import ConfigError, brief, printable
from casper.config.options import RunConfig, flattened
from casper.config.resolve import resolve_config
from casper.config.yaml import read_layout, read_preset

MOST_RUNS = 10_000


def read_sweep(path: Path) -> list[RunConfig]:
    """Read a sweep: the options of `casper run` as keys, `runs:` and `grid:`.

    Every entry of `runs:` (a list of mappings) adds its own options to those of all; `grid:` (a mapping of key to list)
    is multiplied out for each of them. Both may be left out. A `preset:` is looked for beside the file; a
    `title:` is for reports.

    Raises:
        ConfigError: For a file that cannot be read, or a run that cannot be made.
    """
    layout = read_layout(path)
    try:
        return expand(layout, path.parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def sweep_title(path: Path) -> str:
    """Read what a sweep calls itself; its file's name where it does not. Raises `ConfigError`."""
    return str(read_layout(path).get("title", path.stem))


def expand(layout: Mapping[str, Any], folder: Path = Path()) -> list[RunConfig]:
    """Resolve every run of a sweep, in the order of the file; of two that are the same, one.

    Args:
        layout: What the file holds; see `read_sweep`.
        folder: Where a preset is looked for.
    """
    common = {key: value for key, value in layout.items() if key not in ("title", "runs", "grid")}
    configs: dict[str, RunConfig] = {}
    for chosen in _combinations(layout):
        values = {**flattened(common), **chosen}
        preset = values.pop("preset", None)
        try:
            if not isinstance(preset, str | None):
                raise ConfigError(f"preset must be a file's name, but got {brief(preset)}")
            config = resolve_config({}, values, read_preset(folder / preset) if preset else None)
        except ConfigError as error:
            which = printable(", ".join(f"{key} {brief(value)}" for key, value in chosen.items()))
            raise ConfigError(f"{error} (in the run with {which})" if which else str(error)) from error
        if configs.setdefault(config.name, config) != config:
            raise ConfigError(f"two different runs must have different names, but got {config.name} twice")
    return list(configs.values())


def _combinations(layout: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give what each run has of its own, by dotted key."""
    runs, grid = layout.get("runs", [{}]), layout.get("grid", {})
    common = {key: value for key, value in layout.items() if key not in ("title", "runs", "grid")}
    if not isinstance(runs, list) or not runs or not all(isinstance(run, dict) for run in runs):
        raise ConfigError(f"runs must be a list of mappings, at least one, but got {brief(runs)}")
    if not isinstance(grid, dict):
        raise ConfigError(f"grid must be a mapping of keys to lists, but got {brief(grid)}")
    axes = flattened(grid)
    for key, values in axes.items():
        if not isinstance(values, list) or not values:
            raise ConfigError(f"grid {printable(key)} must be a list of values, at least one, but got {brief(values)}")
    count = math.prod(map(len, axes.values())) * len(runs)
    if count > MOST_RUNS:
        raise ConfigError(f"a sweep must have at most {MOST_RUNS:,} runs, but got {count:,}")
    if twice := sorted(flattened(common).keys() & axes.keys()):
        raise ConfigError(f"{printable(twice[0])} must be given once, but got it in grid and beside it")
    for run in map(flattened, runs):
        if twice := sorted(run.keys() & axes.keys()):
            raise ConfigError(f"{printable(twice[0])} must be given once, but got it in grid and in runs")
        for values in itertools.product(*axes.values()):
            yield {**run, **dict(zip(axes, values, strict=True))}
