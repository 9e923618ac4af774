"""Training: the loop over tasks, evaluation, checkpoints."""

from casper.training.checkpoint import CheckpointError, damaged, load_checkpoint, previous, save_checkpoint
from casper.training.evaluation import (
    can_recalibrate,
    evaluate,
    recalibrated_statistics,
    scenarios,
    scores,
    with_statistics,
)
from casper.training.events import (
    Event,
    Listener,
    PieceDone,
    RunStarted,
    SetTested,
    StepDone,
    TaskDone,
    TaskStarted,
    TaskTrained,
)
from casper.training.fit import check_fit
from casper.training.position import Position
from casper.training.trainer import Trainer

__all__ = [
    "CheckpointError",
    "Event",
    "Listener",
    "PieceDone",
    "Position",
    "RunStarted",
    "SetTested",
    "StepDone",
    "TaskDone",
    "TaskStarted",
    "TaskTrained",
    "Trainer",
    "can_recalibrate",
    "check_fit",
    "damaged",
    "evaluate",
    "load_checkpoint",
    "previous",
    "recalibrated_statistics",
    "save_checkpoint",
    "scenarios",
    "scores",
    "with_statistics",
]
