"""Inspect the files of a run: which are intact, and from where it would resume."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casper.config.errors import ConfigError
from casper.config.options import layout_hash
from casper.files import read
from casper.runs.directory import RunDirectory, RunState, kept_checkpoints
from casper.runs.lock import lock_owner
from casper.runs.log import check_log_state, log_damage
from casper.runs.results import read_analysis
from casper.training import CheckpointError, Position, previous

_NONE = "none"


@dataclass(frozen=True)
class Diagnosis:
    """The condition of a run's directory.

    Attributes:
        files: The condition of each file, by its name.
        verdict: What `casper run --resume` would do.
        usable: Whether `casper run --resume` would give a result.

    Example:
        >>> from casper.runs import Diagnosis
        >>> diagnosis = Diagnosis({"environment.json": "intact", "metrics.json": "intact"}, "finished", usable=True)
        >>> diagnosis.verdict
        'finished'
    """

    files: dict[str, str]
    verdict: str
    usable: bool


def examine_run(path: Path) -> Diagnosis:
    """Check every file of a run, without changing anything.

    Raises:
        ConfigError: If the path is not the directory of a run.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from casper.config import resolve_config
        >>> from casper.runs import examine_run, execute
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = execute(resolve_config({"method": "er", "epochs": 1}), Path(folder) / "run")
        ...     diagnosis = examine_run(Path(folder) / "run")
        >>> diagnosis.verdict, diagnosis.usable
        ('finished', True)
    """
    directory = RunDirectory(path)
    state = directory.state()
    if state == "empty":
        raise ConfigError(f"{path} is not the directory of a run")
    files = {}
    config: str | None = None
    try:
        layout = directory.read_layout()
        config = layout_hash(layout)
        files[directory.config.name] = f"intact; {layout.get('method')} on {layout.get('stream')}, {config}"
    except ConfigError as error:
        files[directory.config.name] = f"damaged: {error}"
    files[directory.environment.name] = _environment(directory, state)
    files[directory.log.name] = ""  # in this place
    positions, logs = {}, []
    for file in (directory.checkpoint, previous(directory.checkpoint)):
        files[file.name], found = _checkpoint(directory, file, config)
        if found is not None:
            positions[file.name] = found[0]
            logs.append(found[1])
    files[directory.log.name] = _log(directory.log, next(iter(logs), None))
    for file in kept_checkpoints(path).values():
        files[file.name], _ = _checkpoint(directory, file, config)
    if directory.analysis.exists():
        files[directory.analysis.name] = _analysis(directory)
    if state == "finished":
        try:
            directory.read_metrics()
            files[directory.metrics.name] = "intact"
        except ConfigError as error:
            files[directory.metrics.name] = f"damaged: {error}"
    verdict, usable = _verdict(path, state, files, positions)
    return Diagnosis(files, verdict, usable)


def _verdict(path: Path, state: RunState, files: dict[str, str], positions: dict[str, Position]) -> tuple[str, bool]:
    if bad := [name for name in ("config.yaml", "metrics.json") if files.get(name, "").startswith("damaged")]:
        return f"cannot be used: {bad[0]} is damaged", False
    if state == "finished":
        return f"finished{_missing_analysis(RunDirectory(path))}", True
    if owner := lock_owner(path):
        return f"running: {owner} is writing it", True
    if positions:
        name, position = next(iter(positions.items()))
        return f"unfinished; would resume from {name}: {position}", True
    latest = (RunDirectory(path).checkpoint, previous(RunDirectory(path).checkpoint))
    if any(files[file.name] != _NONE for file in latest):
        return "unfinished; cannot be resumed: every checkpoint is damaged", False
    return "unfinished; would restart: no checkpoint has been written", True


def _missing_analysis(directory: RunDirectory) -> str:
    requested = directory.read_environment().get("analyse") is True and not directory.analysis.exists()
    return ", but not its analysis; --resume completes it" if requested else ""


def _environment(directory: RunDirectory, state: RunState) -> str:
    if state == "finished" and not directory.environment.exists():
        return "missing; not needed"
    return directory.lost_options().removeprefix(f"{directory.environment} is ") or "intact"


def _log(path: Path, state: Mapping[str, Any] | None) -> str:
    """Describe the log; the part that a checkpoint knows must be as it was."""
    try:
        content = read(path)
        damage = "" if state is None else log_damage(path, state)
    except OSError as error:
        return f"missing: {error.strerror}"
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        if not damage and not _is_json(line):
            damage = f"line {number} is not JSON"
    if damage:
        return f"damaged: {damage}; the result does not depend on it"
    incomplete = "" if content.endswith(b"\n") or not content else "; an incomplete last line would be cut off"
    return f"{content.count(bytes([10]))} lines{incomplete}"


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _analysis(directory: RunDirectory) -> str:
    try:
        read_analysis(directory)
    except ConfigError as error:
        return f"damaged: {error}"
    return "intact"


def _checkpoint(
    directory: RunDirectory, file: Path, config: str | None
) -> tuple[str, tuple[Position, Mapping[str, Any]] | None]:
    if not file.exists():
        return _NONE, None
    try:
        state = directory.load_state(file, config)
        log = state["log"]
        check_log_state(log)
        position = Position(**dict(state["trainer"])["position"])
        text = str(position)
    except CheckpointError as error:
        return str(error).removeprefix(f"{file} "), None
    except OSError as error:
        return f"cannot be read: {error.strerror}", None
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return "damaged: it has no position in the run", None
    return f"intact, {file.stat().st_size / 1e6:.1f} MB; {text}", (position, log)
