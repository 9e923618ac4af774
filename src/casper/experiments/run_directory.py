"""A run on disk."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import torch

import casper
from casper.experiments.config import RunConfig
from casper.experiments.errors import ConfigError
from casper.experiments.yaml_files import to_yaml
from casper.training import Event, RunStarted, StepDone, TaskDone, TaskStarted, save_checkpoint

_FILES = (
    "config.yaml",
    "environment.json",
    "log.jsonl",
    "checkpoint.pt",
    "checkpoint.previous.pt",
    "metrics.json",
)
# A line of loss terms is written after this many steps, and at the end of a task.
_LOG_INTERVAL = 50


class RunDirectory:
    """The files of one run.

    config.yaml holds every setting and where it came from; environment.json what cannot change a result; log.jsonl one
    line per event; checkpoint.pt the latest state; metrics.json, written once, the result. Its presence means done.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sums: dict[str, torch.Tensor] = {}
        self._steps = 0

    def create(self, config: RunConfig, environment: Mapping[str, Any], *, overwrite: bool = False) -> None:
        """Make the directory and write what is known before the run.

        Raises:
            ConfigError: If it holds a run already and `overwrite` is not set, or something that is not a run, or if it
                cannot be written.
        """
        self.check(overwrite=overwrite)
        try:
            for name in _FILES:
                (self.path / name).unlink(missing_ok=True)
            self.path.mkdir(parents=True, exist_ok=True)
            self._write("config.yaml", to_yaml({**config.as_dict(), "origin": dict(config.origin)}))
            self._write("environment.json", json.dumps(environment, indent=2) + "\n")
            self._write("log.jsonl", "")
        except OSError as error:
            raise ConfigError(f"--out {self.path} cannot be written: {error.strerror}") from error

    def listen(self, event: Event) -> None:
        """Write an event to the log: loss terms as means over an interval, accuracies and timings per task."""
        if isinstance(event, RunStarted):
            self._log("run started", tasks=event.num_tasks, classes=list(event.class_names))
        elif isinstance(event, TaskStarted):
            self._log("task started", task=event.task, images=event.images, steps=event.epochs * event.steps_per_epoch)
        elif isinstance(event, StepDone):
            for name, term in event.terms.items():
                self._sums[name] = self._sums.get(name, torch.zeros_like(term)) + term
            self._steps += 1
            if self._steps == _LOG_INTERVAL:
                self._log_terms(event.task, event.epoch, event.step)
        elif isinstance(event, TaskDone):
            self._log_terms(event.task, None, None)
            self._log(
                "task done",
                task=event.task,
                accuracies={str(task): values for task, values in event.accuracies.items()},
                average=dict(event.average),
                recalibrated=None if event.recalibrated is None else dict(event.recalibrated),
                memory=event.memory,
                diagnostics=dict(event.diagnostics),
                train_seconds=event.train_seconds,
                evaluate_seconds=event.evaluate_seconds,
            )

    def checkpoint(self, state: Mapping[str, Any]) -> None:
        """Write the latest state."""
        save_checkpoint(self.path / "checkpoint.pt", state)

    def finish(self, metrics: Mapping[str, Any]) -> None:
        """Write the result; the run is done."""
        self._log("finished", steps=metrics["steps"], seconds=metrics["seconds"])
        self._write("metrics.json", json.dumps(metrics, indent=2) + "\n")

    def check(self, *, overwrite: bool = False) -> None:
        """Raise `ConfigError` if `create` would refuse; nothing is changed."""
        try:
            if not self.path.exists():
                return
            is_directory, files = self.path.is_dir(), list(self.path.iterdir()) if self.path.is_dir() else []
        except OSError as error:
            raise ConfigError(f"--out {self.path} cannot be used: {error.strerror}") from error
        if not is_directory:
            raise ConfigError(f"--out {self.path} should be a directory; found a file")
        names = {file.name for file in files}
        if names and "config.yaml" not in names:
            raise ConfigError(f"--out {self.path} should be new, empty or a run's; found other files in it")
        if names and not overwrite:
            state = "a finished run" if "metrics.json" in names else "an unfinished run"
            raise ConfigError(f"--out {self.path} holds {state}; choose another directory, or --overwrite it")

    def _log_terms(self, task: int, epoch: int | None, step: int | None) -> None:
        if self._steps:
            means = {name: total.item() / self._steps for name, total in self._sums.items()}
            where = {} if epoch is None else {"epoch": epoch, "step": step}
            self._log("loss", task=task, **where, steps=self._steps, terms=means)
        self._sums, self._steps = {}, 0

    def _log(self, event: str, **fields: Any) -> None:
        with (self.path / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, **fields}) + "\n")

    def _write(self, name: str, text: str) -> None:
        """Write a file whole or not at all."""
        temporary = self.path / f"{name}.tmp"
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, self.path / name)


def describe_environment(device: str) -> dict[str, Any]:
    """Gather what cannot change a result but may explain one."""
    return {
        "casper": casper.__version__,
        "revision": _revision(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "platform": platform.platform(),
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else platform.processor() or "cpu",
        "threads": torch.get_num_threads(),
        "command": sys.argv[1:],
    }


def _revision() -> str | None:
    """Name the code's revision where it runs from a git checkout; `+`: with changes of its own."""
    here = Path(__file__).parent
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty=+"],
            cwd=here,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip()
