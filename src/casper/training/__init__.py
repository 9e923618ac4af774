"""Training: the loop over tasks, evaluation, checkpoints.

Example:
    >>> from casper import ER, split_digits
    >>> from casper.training import TaskDone, Trainer
    >>> events = []
    >>> metrics = Trainer(split_digits()[:2], ER(), buffer_size=100, listeners=[events.append]).run()
    >>> [event.task for event in events if isinstance(event, TaskDone)]
    [0, 1]
"""

from typing import TYPE_CHECKING

from casper._lazy import has_source, lazy_exports

if TYPE_CHECKING or not has_source(__name__):
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
else:
    __getattr__, __dir__ = lazy_exports(__name__)

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
