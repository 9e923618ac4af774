"""The runs behind a report, known by their configuration and their result alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casper.experiments import ConfigError, RunDirectory


@dataclass(frozen=True)
class FinishedRun:
    """A run that is done.

    Attributes:
        name: Its directory's name.
        layout: Its configuration, in the layout of `config.yaml`, with the origins.
        metrics: Its result.
    """

    name: str
    layout: dict[str, Any]
    metrics: dict[str, Any]

    def value(self, path: str) -> float | None:
        """Look a figure up by its dotted path in `metrics.json`; None: there is none."""
        found: Any = self.metrics
        for part in path.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return found if isinstance(found, int | float) and not isinstance(found, bool) else None

    @property
    def code(self) -> str:
        """The version of the code that made it."""
        return str(self.metrics.get("code", "unknown"))


def read_runs(paths: Sequence[Path]) -> tuple[list[FinishedRun], list[str]]:
    """Read the finished runs in some places: each a run, or a folder of runs.

    Returns:
        The runs, by name; and the names of those that are begun and not finished.

    Raises:
        ConfigError: For a place that holds no run, or a run that cannot be read.
    """
    finished, unfinished = {}, []
    for path in paths:
        places = list(_places(path))
        if not places:
            raise ConfigError(f"{path} should be a run or a folder of runs; found none")
        for place in places:
            directory = RunDirectory(place)
            if directory.metrics.exists():
                finished[place.resolve()] = _read(directory)
            else:
                unfinished.append(place.name)
    return sorted(finished.values(), key=lambda run: run.name), sorted(unfinished)


def _read(directory: RunDirectory) -> FinishedRun:
    layout, metrics = directory.read_layout(), directory.read_metrics()
    missing = [key for key in ("stream", "method", "regularizer", "buffer_size", "seed") if key not in layout]
    if missing or not isinstance(layout["seed"], int) or not isinstance(layout["regularizer"], list):
        raise ConfigError(f"{directory.config} should be the configuration of a run; it is not")
    return FinishedRun(directory.path.name, layout, metrics)


def _places(path: Path) -> Iterable[Path]:
    try:
        if (path / "config.yaml").exists():
            return [path]
        return sorted(place for place in path.iterdir() if (place / "config.yaml").is_file())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
