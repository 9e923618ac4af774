"""Training: the loop over tasks, evaluation, checkpoints."""

from casper._deprecated import renamed_attribute
from casper.training.checkpoint import CheckpointError, damaged, load_checkpoint, previous, save_checkpoint
from casper.training.compatibility import check_compatible
from casper.training.evaluation import (
    Evaluator,
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
from casper.training.state import Position
from casper.training.trainer import Trainer

__all__ = [
    "CheckpointError",
    "Evaluator",
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
    "check_compatible",
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

for _old, _new in {
    "tell": "notify",
    "book": "stopwatch.add",
    "pieces": "work",
    "data": "checksums",
    "fingerprint": "stream.checksums",
    "seconds": "stopwatch.run",
    "task_seconds": "stopwatch.task",
    **{name: f"evaluator.{name}" for name in ("record", "recalibrated_record", "statistics", "features", "latent")},
}.items():
    setattr(Trainer, _old, renamed_attribute(_old, _new))
