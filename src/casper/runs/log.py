"""The log of a run, `log.jsonl`, with one line per event."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
import xxhash

from casper import files
from casper.training import Event, RunStarted, StepDone, TaskDone, TaskStarted

# Mean loss terms are written after this many steps, and at the end of a task.
_LOG_INTERVAL = 50


class RunLog:
    """A listener that logs loss terms, accuracies and timings.

    Loss terms are means over an interval, each over the steps that have the term. A resumed run writes the same lines
    as a run without a stop, and no line twice.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sums: dict[str, torch.Tensor] = {}
        self._counts: dict[str, int] = {}
        self._steps = 0
        self._checksum = xxhash.xxh3_128()  # of all that was written
        self.damage = ""  # what has happened to the file since the checkpoint was written

    def listen(self, event: Event) -> None:
        """Handle an event."""
        if isinstance(event, RunStarted):
            if not event.resumed:
                self.write("run started", tasks=event.num_tasks, classes=list(event.class_names))
        elif isinstance(event, TaskStarted):
            if not event.resumed:
                steps = event.epochs * event.steps_per_epoch
                self.write("task started", task=event.task, images=event.images, steps=steps)
        elif isinstance(event, StepDone):
            for name, term in event.terms.items():
                self._sums[name] = self._sums.get(name, torch.zeros_like(term)).to(term.device) + term
                self._counts[name] = self._counts.get(name, 0) + 1
            self._steps += 1
            if self._steps == _LOG_INTERVAL:
                self._write_terms(event.task, epoch=event.epoch, step=event.step)
        elif isinstance(event, TaskDone):
            self._write_terms(event.task)
            self.write(
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

    def write(self, event: str, **fields: Any) -> None:
        """Append a line."""
        line = (json.dumps({"event": event, **fields}) + "\n").encode()
        files.append(self.path, line)
        self._checksum.update(line)

    def sync(self) -> None:
        """Wait until all lines are on the disk."""
        files.sync(self.path)

    def state_dict(self) -> dict[str, Any]:
        """Return size and checksum of the log, after writing it to the disk, and the sums that are not in it yet."""
        self.sync()
        pending = {"sums": dict(self._sums), "counts": dict(self._counts), "steps": self._steps}
        return {"size": self.path.stat().st_size, "checksum": self._checksum.hexdigest(), **pending}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state: lines that were written after it are cut off, and will be written again."""
        check_log_state(state)
        sums, counts, steps = dict(state["sums"]), dict(state["counts"]), state["steps"]
        self.damage = log_damage(self.path, state)
        files.cut(self.path, state["size"])
        self._checksum = xxhash.xxh3_128(files.read(self.path))
        self._sums, self._counts, self._steps = sums, counts, steps

    def _write_terms(self, task: int, **where: int) -> None:
        if self._steps:
            means = {name: total.item() / self._counts[name] for name, total in self._sums.items()}
            self.write("loss", task=task, **where, steps=self._steps, terms=means)
        self._sums, self._counts, self._steps = {}, {}, 0


def check_log_state(state: Mapping[str, Any]) -> None:
    """Raise `ValueError` for a value of the wrong type: a checkpoint may come from somebody else."""
    if not isinstance(state, dict):
        raise ValueError(f"log must be a dictionary, but got {type(state).__name__}")
    numbers = {name: state[name] for name in ("size", "steps")}
    sums, counts = state["sums"], state["counts"]
    if not isinstance(sums, dict) or not isinstance(counts, dict) or sums.keys() != counts.keys():
        raise ValueError("log.sums and log.counts must be dictionaries with the same keys")
    for name, total in sums.items():
        numbers[f"counts.{name}"] = counts[name]
        if counts[name] == 0:
            raise ValueError(f"log.counts.{name} must be at least 1, but got 0")
        if not isinstance(total, torch.Tensor) or total.shape != () or not total.dtype.is_floating_point:
            raise ValueError(f"log.sums.{name} must be a tensor with one number")
    for name, number in numbers.items():
        if type(number) is not int or not 0 <= number < 2**62:
            raise ValueError(f"log.{name} must be an integer in [0, 2^62), but got {type(number).__name__}")


def log_damage(path: Path, state: Mapping[str, Any]) -> str:
    """Describe how a log differs from its state in a checkpoint, but for later lines; empty text if it does not."""
    content = files.read(path)[: state["size"]] if path.exists() else b""
    if len(content) < state["size"]:
        return f"has lost {state['size'] - len(content)} bytes since the checkpoint was written"
    changed = state.get("checksum") not in (None, xxhash.xxh3_128_hexdigest(content))  # None: of an earlier version
    return "has changed since the checkpoint was written" if changed else ""


_TAIL = 2**16


def how_far(log: Path) -> str:
    """Return the progress of a run, read from the end of its log. Returns empty text if it has not started a task.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from casper.runs import how_far
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     log = Path(folder) / "log.jsonl"
        ...     _ = log.write_text('{"event": "task started", "task": 1, "steps": 60}\\n')
        ...     how_far(log)
        'task 2, step 0/60'
    """
    task: int | None = None
    steps: int | None = None
    step = 0
    for line in _lines(log):
        if line.get("event") == "task started":
            task, steps, step = line.get("task"), line.get("steps"), 0
        elif line.get("event") == "loss":
            task, step = line.get("task"), line["step"] + 1 if "step" in line else steps or 0
    of_all = "" if steps is None else f"/{steps}"
    return "" if task is None else f"task {task + 1}, step {step}{of_all}"


def _lines(log: Path) -> list[dict[str, Any]]:
    lines = []
    with suppress(OSError):
        for text in files.read(log, last=_TAIL).splitlines():
            with suppress(ValueError):  # the first and the last line may be incomplete
                lines.append(json.loads(text))
    return [line for line in lines if isinstance(line, dict)]
