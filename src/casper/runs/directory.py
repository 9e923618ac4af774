"""A run on disk."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from casper import files
from casper._repr import ShowsSettings
from casper.config.errors import ConfigError
from casper.config.options import RunConfig, differing, flattened, layout_hash
from casper.config.resolve import resolve_config
from casper.config.yaml import read_layout, to_yaml
from casper.files import aside, write_whole
from casper.runs.code_version import code_version
from casper.runs.lock import LOCK_FILES
from casper.training import CheckpointError, damaged, load_checkpoint, previous, save_checkpoint

_NAME = re.compile(r"checkpoint\.task-(\d{2,})\.pt")


def kept_path(run: Path, tasks_learnt: int) -> Path:
    """Name the state of a run after so many tasks."""
    return run / f"checkpoint.task-{tasks_learnt:02d}.pt"


def kept_checkpoints(run: Path) -> dict[int, Path]:
    """Find the states that a run's directory has kept, by the number of tasks learnt, the first one first."""
    found = ((_NAME.fullmatch(file.name), file) for file in run.glob("checkpoint.task-*.pt"))
    return dict(sorted((int(match[1]), file) for match, file in found if match))


# Names a state's layout; a state of another one cannot be read.
_FORMAT = 3
RunState = Literal["empty", "unfinished", "finished"]


class RunDirectory(ShowsSettings):
    """The files of one run.

    config.yaml holds every setting and where it came from; environment.json what cannot change a result; log.jsonl one
    line per event; checkpoint.pt the latest state, checkpoint.previous.pt the one before; metrics.json, written once,
    the result. Its presence means done. analysis.json and embedding.npz say what the latent space
    was found to be, if anyone asked; checkpoint.task-NN.pt are states that were kept for that. `.lock` and `.owner`
    keep a second process out. failure.json says why a sweep could not make the run, until it can.
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

    @property
    def has_checkpoint(self) -> bool:
        """Whether a state has been written."""
        return self.checkpoint.exists() or previous(self.checkpoint).exists()

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of a run, in the order in which they are written."""
        return (
            self.config,
            self.environment,
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
        """Tell what is there; what a process leaves that was killed as it began is nothing.

        Raises:
            ConfigError: If it is no directory, cannot be looked into, or holds something that is not a run.
        """
        try:
            if not self.path.exists():
                above = next(folder for folder in self.path.absolute().parents if folder.exists())
                if not above.is_dir():
                    raise ConfigError(f"{self._title} must be below a directory, but got the file {above.name}")
                return "empty"
            if not self.path.is_dir():
                raise ConfigError(f"{self._title} must be a directory, but got a file")
            names = {file.name for file in self.path.iterdir()}
        except OSError as error:
            raise ConfigError(f"{self._title} cannot be used: {error.strerror}") from error
        names -= {self.failure.name, *LOCK_FILES, *(aside(file).name for file in self.files)}
        if names and "config.yaml" not in names:
            raise ConfigError(f"{self._title} must be new, empty or a run's, but got other files and no config.yaml")
        if not names:
            return "empty"
        return "finished" if "metrics.json" in names else "unfinished"

    def check(self, config: RunConfig) -> RunState:
        """Tell what is there, or raise `ConfigError` if this configuration cannot be run or continued here."""
        state = self.state()
        if state == "empty":
            return state
        if keys := differing(self.read_layout(), config.as_dict()):
            what = f"another run, {state}, which differs in {', '.join(keys)}"
            raise ConfigError(f"{self._title} holds {what}; choose another --out, or --overwrite it")
        if state == "finished":
            raise ConfigError(
                f"{self._title} holds this run, finished; --resume shows its result, --overwrite repeats it"
            )
        return state

    def create(self, config: RunConfig, environment: Mapping[str, Any]) -> None:
        """Write what is known before the run; a run that is there is gone then, first of all its result."""
        try:
            old = [*reversed(self.files), *kept_checkpoints(self.path).values()]
            files.remove(self.path, [file.name for file in old if file != self.config])
            write_whole(self.config, to_yaml({**config.as_dict(), "origin": dict(config.origin)}).encode())
            self.begin(environment)
        except OSError as error:
            raise ConfigError(f"{self._title} cannot be written: {error.strerror}") from error

    def begin(self, environment: Mapping[str, Any]) -> None:
        """Write the environment and an empty log: nothing has happened yet."""
        self.write_environment(environment)
        write_whole(self.log, b"")

    def finish(self, metrics: Mapping[str, Any]) -> None:
        """Write the result; the run is done."""
        write_whole(self.metrics, _json(metrics))
        with suppress(OSError):  # the run is done, whatever becomes of an old complaint
            self.write_failure(None)

    def write_failure(self, reason: str | None) -> None:
        """Write why the run could not be made, beside what there is of it; None: that is no longer so."""
        if reason is not None:
            files.make_directory(self.path)
            write_whole(self.failure, _json({"reason": reason, "code": code_version()}))
        elif self.failure.exists():
            files.remove(self.path, [self.failure.name])

    def write_environment(self, environment: Mapping[str, Any]) -> None:
        """Write what cannot change a result."""
        write_whole(self.environment, _json(environment))

    def read_failure(self) -> str:
        """Read why a sweep could not make the run; empty: it did not say so."""
        try:
            return str(read_mapping(self.failure).get("reason", ""))
        except ConfigError:
            return ""

    def read_layout(self) -> dict[str, Any]:
        """Read the configuration as it is written: nothing that it names is looked up. Raises `ConfigError`."""
        try:
            layout = read_layout(self.config)
            layout_hash(layout)
        except (ConfigError, TypeError, ValueError) as error:
            raise ConfigError(f"{self._title} holds a run that cannot be read: {error}") from error
        return layout

    def read_config(self) -> RunConfig:
        """Read the configuration, to go on with it; what it names is imported. Raises `ConfigError`."""
        layout = self.read_layout()
        try:
            return resolve_config({}, flattened(layout))
        except ConfigError as error:
            raise ConfigError(f"{self._title} holds a run that cannot be made: {error}") from error

    def read_environment(self) -> dict[str, Any]:
        """Read what cannot change a result; empty where it cannot be read."""
        try:
            return read_mapping(self.environment)
        except ConfigError:
            return {}

    def read_metrics(self) -> dict[str, Any]:
        """Read the result of a finished run; raises `ConfigError`."""
        metrics = read_mapping(self.metrics)
        if missing := [key for key in ("class_il", "domain_il", "latent", "seconds", "steps") if key not in metrics]:
            raise ConfigError(f"{self.metrics} must hold the result of a run, but got no {missing[0]}")
        return metrics

    def write_checkpoint(self, config: RunConfig, parts: Mapping[str, Any]) -> None:
        """Write the latest state, part by part."""
        save_checkpoint(self.checkpoint, {"format": _FORMAT, "config": config.hash, **parts})

    def keep_checkpoint(self, config: RunConfig, parts: Mapping[str, Any], tasks_learnt: int) -> None:
        """Write the state after a task, which stays."""
        file = kept_path(self.path, tasks_learnt)
        save_checkpoint(file, {"format": _FORMAT, "config": config.hash, **parts}, keep_previous=False)

    def drop_kept_checkpoints(self) -> None:
        """Remove the states after tasks."""
        files.remove(self.path, [file.name for file in kept_checkpoints(self.path).values()])

    def read_checkpoint(self, config: RunConfig) -> tuple[dict[str, Any] | None, str | None]:
        """Read the latest state that is whole, and say what is wrong with the one after it, if anything is.

        Raises:
            ConfigError: If there are states and none is whole.
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
            raise ConfigError(f"{'; '.join(damage)}; start anew with --overwrite, or in another directory")
        return None, None

    def put_damaged_aside(self) -> None:
        """Restore the previous checkpoint over a damaged one, so that the next save preserves the last good state."""
        files.rename(self.checkpoint, damaged(self.checkpoint))
        files.rename(previous(self.checkpoint), self.checkpoint)

    def load_state(self, file: Path, config: str | None) -> dict[str, Any]:
        """Read one checkpoint; raises `CheckpointError`, also if it is of a configuration of another hash."""
        state = load_checkpoint(file)
        if state.get("format") != _FORMAT:
            raise CheckpointError(f"{file} must be of format {_FORMAT}, but got {state.get('format')!r}")
        if config is not None and state.get("config") != config:
            raise CheckpointError(f"{file} was written under another configuration than {self.config.name} holds")
        return state


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2) + "\n").encode()


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds a mapping; raises `ConfigError`."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} must be JSON; {error}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path} must hold a mapping, but got {type(content).__name__}")
    return content
