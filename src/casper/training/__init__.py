"""Training: the loop over tasks, evaluation, checkpoints."""

from casper.training.checkpoint import load_checkpoint, save_checkpoint
from casper.training.evaluation import can_recalibrate, evaluate, recalibrated, scenarios, scores
from casper.training.events import Event, Listener, RunStarted, StepDone, TaskDone, TaskStarted
from casper.training.fit import check_fit
from casper.training.trainer import Trainer

__all__ = [
    "Event",
    "Listener",
    "RunStarted",
    "StepDone",
    "TaskDone",
    "TaskStarted",
    "Trainer",
    "can_recalibrate",
    "check_fit",
    "evaluate",
    "load_checkpoint",
    "recalibrated",
    "save_checkpoint",
    "scenarios",
    "scores",
]
