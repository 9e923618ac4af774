"""How far a run is, as its log says."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

_TAIL = 2**16


def how_far(log: Path) -> str:
    """Say where a run is, from the end of its log; empty: nothing is known yet."""
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
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL))
        for text in file.read().splitlines():
            with suppress(ValueError):  # half a line, at either end
                lines.append(json.loads(text))
    return [line for line in lines if isinstance(line, dict)]
