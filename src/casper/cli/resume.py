"""`casper run --resume`: a run as it was begun."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casper.cli.device import MOST_THREADS, choose_device
from casper.config import ConfigError, RunConfig
from casper.config.errors import flag
from casper.runs import RunDirectory


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

    def as_before(self, device: str, threads: int | None, data_dir: str | None) -> tuple[str, int | None, str | None]:
        """Take of device, threads and data directory what was not given now as it was then."""
        before = self.environment
        if threads is None and before.get("threads") in range(1, MOST_THREADS + 1):
            threads = int(before["threads"])
        if data_dir is None and isinstance(before.get("data_dir"), str):
            data_dir = before["data_dir"]
        if device == "auto" and isinstance(before.get("device"), str):
            with suppress(ConfigError):  # not on this machine
                device = choose_device(before["device"])
        return device, threads, data_dir

    def wished(self, name: str) -> bool:
        """Tell whether something was asked for as it was begun, or gone on with: `analyse`, `keep_checkpoints`."""
        return self.environment.get(name) is True


def begun_run(path: Path, others: Sequence[str]) -> BegunRun:
    """Find the run in a directory.

    Args:
        path: Its directory.
        others: The names of options given beside it, of which it has no need.
    """
    if others:
        raise ConfigError(f"--resume goes on with a run as it was configured; found {flag(others[0])} as well")
    directory = RunDirectory(path)
    state = directory.state()
    if state == "empty":
        raise ConfigError(f"--resume {path} should be the directory of a run; found none")
    metrics = directory.read_metrics() if state == "finished" else None
    return BegunRun(directory.read_config(), directory.read_environment(), metrics)
