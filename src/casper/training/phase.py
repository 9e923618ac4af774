"""The training of one phase: a task is started, its steps are made, it is closed."""

from typing import TYPE_CHECKING

import torch

from casper.errors import ParameterError
from casper.methods import check_weights
from casper.regularizers import Regularizer
from casper.step import Progress
from casper.training.events import StepDone, TaskTrained
from casper.types import Batch, ImageSet, Task

if TYPE_CHECKING:
    from casper.training.trainer import Trainer


def train(trainer: "Trainer", task: Task) -> None:
    """Make the steps of a phase that are left, and close its task; a task that was started is not started again."""
    position = trainer.position
    trainer.net.train()
    if position.stage != "training":
        data = _start(trainer, task)
    else:
        data = trainer.method.training_set(task)
        if data.checksum() != position.checksum:
            raise ParameterError("stream", "the one the run began with", f"other images in task {task.index + 1}")
    assert trainer.optimizer is not None
    while position.step < trainer.epochs * position.steps_per_epoch:
        _step(trainer, task, data)
    check_weights(trainer.net, f"at the end of task {task.index + 1}", trainer.optimizer)
    with trainer.pieces.unit("train", changes=True):
        trainer.method.end_task(task)
        for regularizer in _active(trainer):
            regularizer.end_task(task, trainer.net)
    position.stage, position.order = "testing", None
    trainer.book("train")
    trainer.tell(TaskTrained(position.phase, task.index))


def _start(trainer: "Trainer", task: Task) -> ImageSet:
    """Prepare everyone for a task; returns what its epochs run over."""
    with trainer.pieces.unit("train", changes=True):
        if trainer.optimizer is None or trainer.milestones or trainer.method.new_optimizer_each_task:
            trainer.optimizer = trainer.make_optimizer()
        trainer.scheduler = trainer.make_scheduler(trainer.optimizer)
        trainer.method.start_task(task)
        for regularizer in _active(trainer):
            regularizer.start_task(task, trainer.net)
    data = trainer.method.training_set(task)
    position = trainer.position
    position.images, position.checksum = len(data), data.checksum()
    position.steps_per_epoch = -(-len(data) // trainer.batch_size)
    position.stage = "training"
    trainer.book("train")
    trainer.tell_started(task)
    return data


def _step(trainer: "Trainer", task: Task, data: ImageSet) -> None:
    """Make one update; a new epoch's order belongs to its first step, the schedule's move to its last."""
    position, generators = trainer.position, trainer.generators
    epoch, place = divmod(position.step, position.steps_per_epoch)
    if place == 0:
        position.order = torch.randperm(len(data), generator=generators["order"])
    assert position.order is not None
    assert trainer.optimizer is not None
    rows = position.order[place * trainer.batch_size :][: trainer.batch_size]
    part = data[rows.to(trainer.device)]
    batch = Batch(part.images, part.labels, trainer.method.view(part.images, generators["augment"]))
    progress = Progress(epoch, trainer.epochs, position.step)
    terms = trainer.method.observe(batch, task, progress, trainer.optimizer, _active(trainer))
    if trainer.scheduler is not None and place == position.steps_per_epoch - 1:
        trainer.scheduler.step()
    trainer.steps += 1
    position.step += 1
    trainer.book("train")
    trainer.tell(StepDone(position.phase, task.index, epoch, progress.step, terms))


def _active(trainer: "Trainer") -> list[Regularizer]:
    return [regularizer for regularizer in trainer.regularizers if regularizer.weight != 0]
