"""`casper run --resume`: a run as it was begun."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casper.cli.device import choose_device, use_threads
from casper.experiments import ConfigError, RunConfig, RunDirectory
from casper.experiments.errors import flag


@dataclass(frozen=True)
class BegunRun:
    """A run that was begun.

    Attributes:
        config: Its configuration.
        environment: What else it was begun with; may be empty.
        metrics: Its result; None: it is not finished.
    """

    config: RunConfig
    environment: Mapping[str, Any]
    metrics: dict[str, Any] | None

    def as_before(self, device: str, threads: int | None, data_dir: str | None) -> tuple[str, str | None]:
        """Take what was not given now as it was then; sets the threads, and returns device and data directory."""
        before = self.environment
        if threads is None and isinstance(before.get("threads"), int):
            threads = before["threads"]
        use_threads(threads)
        if data_dir is None and isinstance(before.get("data_dir"), str):
            data_dir = before["data_dir"]
        if device == "auto" and isinstance(before.get("device"), str):
            device = before["device"]
        return choose_device(device), data_dir


def begun_run(path: Path, others: Sequence[str]) -> BegunRun:
    """Find the run in a directory.

    Args:
        path: Its directory.
        others: The names of options given beside it, of which it has no need.
    """
    if others:
        raise ConfigError(f"--resume goes on with a run as it was configured; found {flag(others[0])} as well")
    directory = RunDirectory(path, "--resume")
    state = directory.state()
    if state == "empty":
        raise ConfigError(f"--resume {path} should be the directory of a run; found none")
    metrics = directory.read_metrics() if state == "finished" else None
    return BegunRun(directory.read_config(), directory.read_environment(), metrics)
