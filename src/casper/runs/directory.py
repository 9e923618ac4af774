"""The directory of a run: its files, and how they are read and written."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from casper import files
from casper._repr import ShowsSettings
from casper.config.errors import ConfigError
from casper.config.options import MOST_THREADS, RunConfig, differing, flattened, layout_hash
from casper.config.resolve import resolve_config
from casper.config.yaml import read_layout, to_yaml
from casper.files import UnsafeFileError, is_temporary_of, write_whole
from casper.runs.code_version import code_version
from casper.runs.lock import LOCK_FILES
from casper.training import CheckpointError, damaged, load_checkpoint, previous, save_checkpoint

_NAME = re.compile(r"checkpoint\.task-(\d{2,})\.pt")


def kept_path(run: Path, tasks_learnt: int) -> Path:
    """Return the path of the permanent checkpoint after a number of tasks."""
    return run / f"checkpoint.task-{tasks_learnt:02d}.pt"


def kept_checkpoints(run: Path) -> dict[int, Path]:
    """Find the permanent checkpoints of a run by the number of tasks learned, in ascending order."""
    found = ((_NAME.fullmatch(file.name), file) for file in run.glob("checkpoint.task-*.pt"))
    return dict(sorted((int(match[1]), file) for match, file in found if match))


# The format of checkpoints; those of another format cannot be read.
_FORMAT = 3
RunState = Literal["empty", "unfinished", "finished"]


class RunDirectory(ShowsSettings):
    """The files of one run.

    - config.yaml: every setting and its origin.
    - environment.json: versions, machine and threads.
    - log.jsonl: one line per event.
    - checkpoint.pt, checkpoint.previous.pt: the latest checkpoint and the one before it.
    - metrics.json: the result; the run is finished when it exists.
    - checkpoint.task-NN.pt: permanent checkpoints of task ends, if requested.
    - analysis.json, embedding.npz: the analysis of the latent space, if requested.
    - failure.json: why the run failed in a sweep, until it succeeds.
    - .lock, .owner: the process that is executing the run.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from casper.config import resolve_config
        >>> from casper.runs import RunDirectory, execute
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = execute(resolve_config({"method": "er", "epochs": 1}), Path(folder) / "run")
        ...     run = RunDirectory(Path(folder) / "run")
        ...     run.state(), run.read_config().options.method, sorted(run.read_metrics())[:3]
        ('finished', 'er', ['class_il', 'code', 'domain_il'])
    """

    def __init__(self, path: Path) -> None:
        self.path, self._title = path, f"run directory {path}"
        self.config = path / "config.yaml"
        self.environment = path / "environment.json"
        self.log = path / "log.jsonl"
        self.checkpoint = path / "checkpoint.pt"
        self.metrics = path / "metrics.json"
        self.analysis = path / "analysis.json"
        self.embedding = path / "embedding.npz"
        self.failure = path / "failure.json"

    @classmethod
    def named(cls, folder: Path, config: RunConfig) -> "RunDirectory":
        """Return the directory of a run in a folder, by the run's name.

        Raises:
            ConfigError: If it is a symbolic link: somebody else may have made the folder.
        """
        path = folder / config.name
        if path.is_symlink():
            raise ConfigError(f"run directory {path} must be a directory, but it is a symbolic link; remove it")
        return cls(path)

    @property
    def has_checkpoint(self) -> bool:
        """Whether a checkpoint has been written."""
        return self.checkpoint.exists() or previous(self.checkpoint).exists()

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of a run, in the order in which they are written."""
        return (
            self.environment,
            self.config,
            self.log,
            damaged(self.checkpoint),
            previous(self.checkpoint),
            self.checkpoint,
            self.failure,
            self.metrics,
            self.embedding,
            self.analysis,
        )

    def state(self) -> RunState:
        """Return the state of the run. What a process left that was killed before it wrote config.yaml counts as empty.

        Raises:
            ConfigError: If the path is not a directory, cannot be read, or contains files that are not of a run.
        """
        try:
            if not self.path.exists():
                above = next(folder for folder in self.path.absolute().parents if folder.exists())
                if not above.is_dir():
                    raise ConfigError(f"{self._title} must be in a directory, but {above.name} is a file")
                return "empty"
            if not self.path.is_dir():
                raise ConfigError(f"{self._title} must be a directory, but is a file")
            names = {file.name for file in self.path.iterdir()}
        except OSError as error:
            raise ConfigError(f"{self._title} cannot be used: {error.strerror}") from error
        if {"config.yaml", "metrics.json"} <= names:
            return "finished"
        self._check_plain(names)
        names -= {name for name in names if self._becomes(name) not in (name, None)}
        names -= {self.failure.name, *LOCK_FILES}
        if names == {self.environment.name} and "casper" in self.read_environment():
            return "empty"  # killed before it wrote config.yaml
        if names and "config.yaml" not in names:
            raise ConfigError(f"{self._title} must be new, empty or of a run, but has other files and no config.yaml")
        return "unfinished" if names else "empty"

    def _becomes(self, name: str) -> str | None:
        """Return the file of this run that a name is of, or that a temporary file was to become; None if of none."""
        becomes = is_temporary_of(name, plain=True) or name
        known = {*LOCK_FILES, *(file.name for file in self.files)}
        return becomes if becomes in known or _NAME.fullmatch(becomes) else None

    def _check_plain(self, names: Iterable[str]) -> None:
        """Raise `ConfigError` if a file of the run is a link or a pipe: somebody else may have made the directory."""
        for name in sorted(names):
            try:
                if self._becomes(name):
                    files.check_plain(self.path / name)
            except UnsafeFileError as error:
                raise ConfigError(str(error)) from error

    def remove_stale(self) -> None:
        """Remove temporary files that were left when this run was killed; the lock of the run must be held."""
        for name in {self._becomes(file.name) for file in self.path.glob("*.tmp")} - {None}:
            files.remove_stale(self.path / str(name), plain=True)

    def check(self, config: RunConfig) -> RunState:
        """Return the state of the run, or raise `ConfigError` if this configuration cannot be run or resumed here."""
        state = self.state()
        if state == "empty":
            return state
        if keys := differing(self.read_layout(), config.as_dict()):
            what = f"another run ({state}), which differs in {', '.join(keys)}"
            raise ConfigError(f"{self._title} contains {what}; choose another --out, or --overwrite it")
        if state == "finished":
            raise ConfigError(
                f"{self._title} contains this run, finished; --resume prints its result, --overwrite repeats it"
            )
        return state

    def create(self, config: RunConfig, environment: Mapping[str, Any]) -> None:
        """Write the files of a new run. An old run in the directory is removed, its result first."""
        try:
            self._check_plain(file.name for file in self.path.iterdir())
            old = [*reversed(self.files), *kept_checkpoints(self.path).values()]
            files.remove(self.path, [file.name for file in old if file not in (self.config, self.environment)])
            self.write_environment(environment)  # first: a run is never without its options
            write_whole(self.config, to_yaml({**config.as_dict(), "origin": dict(config.origin)}).encode())
            write_whole(self.log, b"")
        except OSError as error:
            raise ConfigError(f"{self._title} cannot be written: {error.strerror}") from error

    def begin(self, environment: Mapping[str, Any]) -> None:
        """Write the environment and an empty log, for a run that starts from the beginning."""
        self.write_environment(environment)
        write_whole(self.log, b"")

    def finish(self, metrics: Mapping[str, Any]) -> None:
        """Write the result, which marks the run as finished."""
        write_whole(self.metrics, _json(metrics))
        with suppress(OSError):  # the run is finished even if an old failure.json cannot be removed
            self.write_failure(None)

    def write_failure(self, reason: str | None) -> None:
        """Write the reason for which the run failed, next to its other files; None removes it."""
        if reason is not None:
            files.make_directory(self.path)
            write_whole(self.failure, _json({"reason": reason, "code": code_version()}))
        elif self.failure.exists():
            files.remove(self.path, [self.failure.name])

    def write_environment(self, environment: Mapping[str, Any]) -> None:
        """Write the environment."""
        write_whole(self.environment, _json(environment))

    def read_failure(self) -> str:
        """Read the reason for which the run failed in a sweep. Returns empty text if there is none."""
        try:
            return str(read_mapping(self.failure).get("reason", ""))
        except ConfigError:
            return ""

    def read_layout(self) -> dict[str, Any]:
        """Read the configuration as it is written, without looking up its names. Raises `ConfigError`."""
        try:
            if self.config.exists() and not self.config.is_file():
                raise ConfigError(f"{self.config} must be a file")
            layout = read_layout(self.config)
            layout_hash(layout)
        except (ConfigError, TypeError, ValueError) as error:
            raise ConfigError(f"{self._title} contains a run that cannot be read: {error}") from error
        return layout

    def read_config(self) -> RunConfig:
        """Read the configuration of the run, to resume it; imports the parts it names. Raises `ConfigError`."""
        layout = self.read_layout()
        try:
            return resolve_config({}, flattened(layout))
        except ConfigError as error:
            raise ConfigError(f"{self._title} contains a run that cannot be executed: {error}") from error

    def read_environment(self) -> dict[str, Any]:
        """Read the environment. Returns an empty mapping if it cannot be read."""
        try:
            return read_mapping(self.environment)
        except ConfigError:
            return {}

    def lost_options(self) -> str:
        """Describe which options `environment.json` no longer holds, and why. Returns empty text if it holds all."""
        found = "damaged" if self.environment.exists() else "missing"
        lost = ", ".join(f"--{name.replace('_', '-')}" for name in lost_options(self.read_environment()))
        return f"{self.environment} is {found}; lost: {lost}; give those that the run had" if lost else ""

    def read_metrics(self) -> dict[str, Any]:
        """Read the result of a finished run; raises `ConfigError`."""
        metrics = read_mapping(self.metrics)
        if missing := [key for key in ("class_il", "domain_il", "latent", "seconds", "steps") if key not in metrics]:
            raise ConfigError(f"{self.metrics} must contain the result of a run, but has no {missing[0]}")
        return metrics

    def write_checkpoint(self, config: RunConfig, parts: Mapping[str, Any]) -> None:
        """Write the latest checkpoint."""
        save_checkpoint(self.checkpoint, {"format": _FORMAT, "config": config.hash, **parts})

    def keep_checkpoint(self, config: RunConfig, parts: Mapping[str, Any], tasks_learnt: int) -> None:
        """Write the permanent checkpoint after a task."""
        file = kept_path(self.path, tasks_learnt)
        save_checkpoint(file, {"format": _FORMAT, "config": config.hash, **parts}, keep_previous=False)

    def drop_kept_checkpoints(self) -> None:
        """Remove the permanent checkpoints of all task ends."""
        files.remove(self.path, [file.name for file in kept_checkpoints(self.path).values()])

    def read_checkpoint(self, config: RunConfig) -> tuple[dict[str, Any] | None, str | None]:
        """Read the latest checkpoint, or the previous one if the latest is damaged.

        Returns:
            The content, None if there is no checkpoint; and what is wrong with the latest one, None if nothing is.

        Raises:
            ConfigError: If all checkpoints are damaged.
        """
        found = [file for file in (self.checkpoint, previous(self.checkpoint)) if file.exists()]
        damage: list[str] = []
        for file in found:
            try:
                state = self.load_state(file, config.hash)
            except CheckpointError as error:
                damage.append(str(error))
            except OSError as error:
                damage.append(f"{file} cannot be read: {error.strerror}")
            else:
                return state, damage[0] if damage else None
        if damage:
            raise ConfigError(f"{'; '.join(damage)}; restart the run with --overwrite, or in another directory")
        return None, None

    def put_damaged_aside(self) -> None:
        """Restore the previous checkpoint over a damaged one, so that the next save preserves the last good state."""
        files.rename(self.checkpoint, damaged(self.checkpoint))
        files.rename(previous(self.checkpoint), self.checkpoint)

    def load_state(self, file: Path, config: str | None) -> dict[str, Any]:
        """Read one checkpoint; raises `CheckpointError`, also if its configuration has another hash."""
        state = load_checkpoint(file)
        if state.get("format") != _FORMAT:
            raise CheckpointError(f"{file} must be of format {_FORMAT}, but got {state.get('format')!r}")
        if config is not None and state.get("config") != config:
            raise CheckpointError(f"{file} was written with another configuration than {self.config.name}")
        return state


# The options that only `environment.json` stores, because they do not change a result.
_OPTIONS: dict[str, Callable[[Any], bool]] = {
    "device": lambda value: isinstance(value, str),
    "threads": lambda value: type(value) is int and 1 <= value <= MOST_THREADS,
    "data_dir": lambda value: value is None or isinstance(value, str),
    "keep_checkpoints": lambda value: isinstance(value, bool),
    "analyse": lambda value: isinstance(value, bool),
}


def lost_options(environment: Mapping[str, Any]) -> list[str]:
    """List the options that are missing in an environment, or have the wrong type."""
    return [name for name, valid in _OPTIONS.items() if name not in environment or not valid(environment[name])]


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2) + "\n").encode()


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a JSON file that contains a mapping; raises `ConfigError`."""
    try:
        content = json.loads(files.read(path).decode())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} must be JSON; {error}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path} must contain a mapping, but got {type(content).__name__}")
    return content
