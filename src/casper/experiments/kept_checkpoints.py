"""States that stay: one for each task end, where they are asked for."""

import re
from pathlib import Path

_NAME = re.compile(r"checkpoint\.task-(\d{2,})\.pt")


def kept_path(run: Path, tasks_learnt: int) -> Path:
    """Name the state of a run after so many tasks."""
    return run / f"checkpoint.task-{tasks_learnt:02d}.pt"


def kept_checkpoints(run: Path) -> dict[int, Path]:
    """Find the states that a run's directory has kept, by the number of tasks learnt, the first one first."""
    found = ((_NAME.fullmatch(file.name), file) for file in run.glob("checkpoint.task-*.pt"))
    return dict(sorted((int(match[1]), file) for match, file in found if match))
