"""Sweep files: one YAML file that describes many runs."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from casper.config.errors import ConfigError, brief
from casper.config.options import RunConfig, flattened, layout_hash
from casper.config.recorded import recorded_parts
from casper.config.registry import Find, custom_parts, find_part, parts_with_code
from casper.config.resolve import resolve_config
from casper.config.yaml import Preset, read_layout, read_preset
from casper.errors import ParameterError
from casper.formatting import printable

MOST_RUNS = 10_000


def read_sweep(path: Path, data_dir: str | None = None) -> list[RunConfig]:
    """Read the configurations of a sweep file.

    The keys of the file are the options of `casper run`, which all runs share, `runs:` and `grid:`. Every entry of
    `runs:` (a list of mappings) adds options to the shared ones. `grid:` (a mapping of keys to lists) is expanded to
    all combinations of its values, for every entry of `runs:`. Both are optional. The path of a `preset:` is relative
    to the file; a `title:` is for reports.

    Args:
        path: The file.
        data_dir: The directory to search for data sets first, where a memory is given by its size.

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
    with _named(path):
        return expand(layout, path.parent, data_dir)


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


def expand(layout: Mapping[str, Any], folder: Path = Path(), data_dir: str | None = None) -> list[RunConfig]:
    """Resolve every run of a sweep, in the order of the file, without duplicates.

    Args:
        layout: The content of a sweep file; see `read_sweep`.
        folder: The folder to which the path of a preset is relative.
        data_dir: See `read_sweep`.

    Raises:
        ConfigError: If the configuration of a run is not valid.

    Example:
        >>> from casper.sweeps import expand
        >>> configs = expand({"method": "er", "grid": {"buffer_size": [50, 100]}})
        >>> [config.options.buffer_size for config in configs]
        [50, 100]
    """
    configs: dict[str, RunConfig] = {}
    for entry in _entries(layout, folder):
        config = entry.resolved(data_dir=data_dir)
        if configs.setdefault(config.name, config) != config:
            raise ConfigError(f"different runs must have different names, but two have the name {config.name}")
    return list(configs.values())


def modules_of_sweep(path: Path) -> list[str]:
    """List the user's modules, and files of trunks, that `read_sweep` may load, without loading them.

    Raises `ConfigError`.
    """
    layout = read_layout(path)
    with _named(path):
        parts = [parts_with_code(entry.given) for entry in _entries(layout, path.parent)]
    return sorted({name if name.startswith("file:") else name.partition(":")[0] for each in parts for _, name in each})


def runs_of_sweep(path: Path, layouts: Sequence[Mapping[str, Any]]) -> tuple[set[int], list[str]]:
    """Find the runs of a sweep file among configurations, without importing a user's module.

    A run with classes of the user's is one of the sweep's if the file gives the same configuration with the classes as
    the run recorded them.

    Args:
        path: The sweep file.
        layouts: Configurations in the layout of `config.yaml`, with the origins.

    Returns:
        The places of the sweep's runs among `layouts`; and names for the runs that are not among them.

    Raises:
        ConfigError: If the file cannot be read, or the configuration of a run is not valid.
    """
    places: dict[str, list[int]] = {}
    for place, layout in enumerate(layouts):
        places.setdefault(layout_hash(layout), []).append(place)
    found, missing = set[int](), dict[str, None]()
    content = read_layout(path)
    with _named(path):
        for written in _entries(content, path.parent):
            here, name = list[int](), written.which or "the run"
            for entry in written.with_items(layouts):
                if custom_parts(entry.given):
                    here += [place for place, layout in enumerate(layouts) if entry.is_behind(layout)]
                else:
                    config = entry.resolved()
                    here += places.get(config.hash, [])
                    name = config.name if written.size is None else name
            if (size := written.size) is not None:
                here = [place for place in here if _has_size(layouts[place], size)]
            found.update(here)
            if not here:
                missing[name] = None
    return found, list(missing)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Add the name of a sweep file to its errors."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


@dataclass(frozen=True)
class _Entry:
    """One run of a sweep: the values of the file, by dotted key, its preset, and what sets it apart, in words."""

    values: Mapping[str, Any]
    preset: Preset | None
    which: str

    @property
    def given(self) -> dict[str, Any]:
        return {**(self.preset[0] if self.preset else {}), **self.values}

    @property
    def size(self) -> int | None:
        """The size of the memory in bytes, if the entry gives that instead of a number of items."""
        return _bytes_of(self.given.get("buffer_size"))

    def with_items(self, layouts: Sequence[Mapping[str, Any]]) -> list["_Entry"]:
        """Replace a size of the memory by each number of items that a run recorded for it, and by 1 for no memory.

        So neither the images nor the user's modules are needed. An entry with a number of items stays as it is.
        """
        if self.size is None:
            return [self]
        recorded = {layout["buffer_size"] or 1 for layout in layouts if _has_size(layout, self.size)}
        return [replace(self, values={**self.values, "buffer_size": items}) for items in sorted(recorded | {1})]

    def resolved(self, find: Find = find_part, data_dir: str | None = None) -> RunConfig:
        try:
            return resolve_config({}, self.values, self.preset, find=find, data_dir=data_dir)
        except ConfigError as error:
            raise ConfigError(f"{error} (in the run with {self.which})" if self.which else str(error)) from error

    def is_behind(self, layout: Mapping[str, Any]) -> bool:
        """Return whether a run's configuration is what this entry gives with the classes that the run recorded."""
        flat, given = flattened(layout), self.given
        regularizers = given.pop("regularizer", flat.get("regularizer"))
        listed = [regularizers] if isinstance(regularizers, str) else regularizers
        # Values that are not set, or 0, may have been reset because they do not apply.
        same = all(flat[key] == value for key, value in given.items() if flat.get(key))
        if not same or ([] if listed == ["none"] else listed) != flat.get("regularizer"):
            return False
        try:
            return self.resolved(recorded_parts(layout)).hash == layout_hash(layout)
        except ConfigError:
            return False


def _has_size(layout: Mapping[str, Any], size: int) -> bool:
    """Return whether the memory of a run was given by this size in bytes, or the run has no memory."""
    given = str((layout.get("origin") or {}).get("buffer_size")).rpartition(", ")[2]
    return layout.get("buffer_size") == 0 or _bytes_of(given) == size


def _bytes_of(size: object) -> int | None:
    """Read the size of a memory such as `64MB`; returns None for a number of items, and for text that is no size."""
    from casper.data.limits import parse_size

    with suppress(ParameterError):
        return parse_size(size) if isinstance(size, str) else None
    return None


def _entries(layout: Mapping[str, Any], folder: Path) -> Iterator[_Entry]:
    common = {key: value for key, value in layout.items() if key not in ("title", "runs", "grid")}
    for chosen in _combinations(layout):
        values = {**flattened(common), **chosen}
        preset = values.pop("preset", None)
        if not isinstance(preset, str | None):
            raise ConfigError(f"preset must be the name of a file, but got {brief(preset)}")
        which = printable(", ".join(f"{key} {brief(value)}" for key, value in chosen.items()))
        yield _Entry(values, read_preset(folder / preset) if preset else None, which)


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
