"""Finished runs, read from their configuration and their results."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casper.config import ConfigError, flattened
from casper.config.registry import parts_with_code
from casper.runs import RunDirectory
from casper.runs.results import is_finite, look_up, read_analysis
from casper.runs.user_code import UNKNOWN, UserCode, recorded_user_code

_MOST = 1e6  # no accuracy is larger, and plots can draw it
_NOT_RECORDED = "not recorded"
UNKNOWN_DIGESTS = frozenset({_NOT_RECORDED, UNKNOWN})


@dataclass(frozen=True)
class FinishedRun:
    """A finished run.

    Attributes:
        name: Its directory's name.
        layout: Its configuration, in the layout of `config.yaml`, with the origins.
        metrics: Its result.
        analysis: The analysis of its latent space, in the layout of `analysis.json`; None if there is none.

    Example:
        >>> from casper.config import resolve_config
        >>> from casper.reports import FinishedRun
        >>> config = resolve_config({"method": "er"})
        >>> run = FinishedRun(config.name, config.as_dict(), {"class_il": {"final_average_accuracy": 90.0}})
        >>> run.value("class_il.final_average_accuracy")
        90.0
    """

    name: str
    layout: dict[str, Any]
    metrics: dict[str, Any]
    analysis: dict[str, Any] | None = None

    def value(self, path: str) -> float | None:
        """Look up a value by its dotted path in `metrics.json`; returns None if it is missing.

        `analysis.NAME` is a value of the analysis after the last task, and `analysis.functional_map.NAME` one of the
        functional map to the latest task end.
        """
        return look_up({**self.metrics, "analysis": self._last_found}, path)

    def lacks(self, path: str) -> bool:
        """Return whether an earlier version, which did not measure this value of the latent space, made the run."""
        block, _, key = path.partition(".")
        latent = self.metrics.get("latent")
        return block == "latent" and isinstance(latent, dict) and bool(latent) and key not in latent

    def neighbors(self, graph: str) -> Any:
        """Return the number of neighbours in the analysed graphs of a kind, `sigma` or `map`.

        A functional map has its own number; earlier versions have one for all graphs.
        """
        analysis = self.analysis or {}
        of_map = self._last_found["functional_map"].get("num_neighbors") if graph == "map" else None
        return of_map or analysis.get(f"{graph}_neighbors") or analysis.get("num_neighbors", 10)

    @property
    def _last_found(self) -> dict[str, Any]:
        analysis = self.analysis or {}
        ends, maps = analysis.get("task_ends") or [{}], analysis.get("functional_maps") or [{}]
        farthest = max(maps, key=lambda found: (found.get("to", 0), found.get("from", 0)))
        return {**ends[-1], "functional_map": farthest}

    @property
    def main_block(self) -> tuple[str, dict[str, Any]]:
        """The name and block of the stream's scenario, Class-IL or else Domain-IL; the block may be empty."""
        name = "class_il" if self.metrics.get("class_il") else "domain_il"
        return name, self.metrics.get(name) or {}

    @property
    def code(self) -> str:
        """The version of casper that executed the run."""
        return str(self.metrics.get("code", "unknown"))

    @property
    def user_code(self) -> UserCode:
        """The digest of the code of each of the user's classes in the run, and that of the weights of its trunk."""
        recorded, unknown = recorded_user_code(self.metrics), {"digest": _NOT_RECORDED}
        layout = flattened(self.layout)
        parts = [part for _, part in parts_with_code(layout)]
        if (trunk := layout.get("trunk")) is not None:
            parts = list(dict.fromkeys([*parts, trunk]))
        return {part: recorded.get(part, {"name": part, **unknown}) for part in parts}

    @property
    def version(self) -> str:
        """The version of all code that executed the run, casper's and the user's; of a resumed run, several of each."""
        return " + ".join([self.code, *(f"{part} {entry['digest']}" for part, entry in self.user_code.items())])


def read_runs(
    paths: Sequence[Path], warn: Callable[[str], None] = warnings.warn
) -> tuple[list[FinishedRun], list[str]]:
    """Read the finished runs in several places, each a run or a folder of runs.

    Args:
        paths: The places.
        warn: Called for each run that cannot be read, which then counts as not finished.

    Returns:
        The runs, by name; and the names of those that are not finished.

    Raises:
        ConfigError: For a place without a run.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from casper.config import resolve_config
        >>> from casper.reports import read_runs
        >>> from casper.runs import execute
        >>> config = resolve_config({"method": "er", "regularizer": ["none"], "epochs": 1, "tasks": 2})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = execute(config, Path(folder) / "first")
        ...     runs, unfinished = read_runs([Path(folder)])
        >>> [run.name for run in runs], unfinished
        (['first'], [])
    """
    finished, unfinished = {}, []
    for path in paths:
        places = list(_places(path))
        if not places:
            raise ConfigError(f"{path} is neither a run nor a folder of runs")
        for place in places:
            directory = RunDirectory(place)
            if not directory.metrics.exists():
                unfinished.append(place.name)
                continue
            try:
                finished[place.resolve()] = _read(directory, warn)
            except ConfigError as error:
                warn(f"left out: {error}")
                unfinished.append(place.name)
    return sorted(finished.values(), key=lambda run: run.name), sorted(unfinished)


def _read(directory: RunDirectory, warn: Callable[[str], None]) -> FinishedRun:
    layout, metrics = directory.read_layout(), directory.read_metrics()
    missing = [key for key in ("stream", "method", "regularizer", "buffer_size", "seed") if key not in layout]
    names = [layout.get("stream"), layout.get("method"), *_listed(layout.get("regularizer"))]
    numbers = [layout.get("seed"), layout.get("buffer_size")]
    typed = all(isinstance(name, str) for name in names) and all(isinstance(number, int) for number in numbers)
    if missing or not typed:
        raise ConfigError(f"{directory.config} is not the configuration of a run")
    blocks = [metrics.get(name) for name in ("class_il", "task_il", "domain_il")]
    shaped = all(block is None or (isinstance(block, dict) and _is_matrix(block)) for block in blocks)
    tasks = metrics.get("tasks", [])
    if not shaped or not isinstance(tasks, list) or not all(isinstance(task, list) for task in tasks):
        raise ConfigError(f"{directory.metrics} is not the result of a run")
    analysis = None
    try:
        analysis = read_analysis(directory)
    except ConfigError as error:
        warn(f"an analysis is left out: {error}")
    return FinishedRun(directory.path.name, layout, metrics, analysis)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [None]


def _is_matrix(block: dict[str, Any]) -> bool:
    matrix = block.get("accuracy_matrix")
    return isinstance(matrix, list) and all(
        isinstance(row, list) and all(value is None or (is_finite(value) and abs(value) < _MOST) for value in row)
        for row in matrix
    )


def _places(path: Path) -> Iterable[Path]:
    try:
        if (path / "config.yaml").exists():
            return [path]
        known = ("config.yaml", "failure.json")
        return sorted(place for place in path.iterdir() if any((place / name).is_file() for name in known))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
