"""The events that a trainer sends to its listeners, in the order in which they occur."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from casper.metrics import Accuracies

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class RunStarted:
    """A run starts or resumes.

    Attributes:
        num_tasks: The length of the stream.
        class_names: The name of each label, in the order of the columns of the logits.
        about: The stream's description of its images; may be empty.
        resumed: Whether the run resumes from a checkpoint.

    Example:
        >>> from casper.training import RunStarted
        >>> RunStarted(num_tasks=2, class_names=("cat", "dog"), about="").resumed
        False
    """

    num_tasks: int
    class_names: tuple[str, ...]
    about: str
    resumed: bool = False


@dataclass(frozen=True)
class TaskStarted:
    """A phase of training starts, or resumes after `step` steps; phases and tasks are counted from 0.

    Example:
        >>> from casper.training import TaskStarted
        >>> event = TaskStarted(phase=0, num_phases=5, task=0, num_tasks=5, images=240, epochs=2, steps_per_epoch=4)
        >>> event.epochs * event.steps_per_epoch
        8
    """

    phase: int
    num_phases: int
    task: int
    num_tasks: int
    images: int
    epochs: int
    steps_per_epoch: int
    step: int = 0
    resumed: bool = False


@dataclass(frozen=True)
class StepDone:
    """A training step is done; `terms` are its loss terms by name, empty if there was no update.

    They are tensors; reading one may wait for the device.

    Example:
        >>> import torch
        >>> from casper.training import StepDone
        >>> event = StepDone(phase=0, task=0, epoch=0, step=3, terms={"stream": torch.tensor(0.5)})
        >>> event.terms["stream"].item()
        0.5
    """

    phase: int
    task: int
    epoch: int
    step: int
    terms: Mapping[str, "Tensor"]


@dataclass(frozen=True)
class TaskTrained:
    """The training of a task is done; its evaluation follows.

    Example:
        >>> from casper.training import TaskTrained
        >>> TaskTrained(phase=1, task=1)
        TaskTrained(phase=1, task=1)
    """

    phase: int
    task: int


@dataclass(frozen=True)
class PieceDone:
    """A part of a long computation is done, at the start or end of a task or on a test set; `done` parts so far.

    Example:
        >>> from casper.training import PieceDone
        >>> PieceDone(done=3)
        PieceDone(done=3)
    """

    done: int


@dataclass(frozen=True)
class SetTested:
    """A test set is done; `done` of `total` so far.

    Example:
        >>> from casper.training import SetTested
        >>> event = SetTested(done=1, total=2)
        >>> f"{event.done} of {event.total}"
        '1 of 2'
    """

    done: int
    total: int


@dataclass(frozen=True)
class TaskDone:
    """A task is trained and evaluated.

    Attributes:
        phase: The phase of training.
        task: The task, which is also the row of the accuracy matrix.
        accuracies: The accuracies by index of the test task.
        average: The average accuracy over the tasks seen so far, by scenario.
        recalibrated: The average with recomputed BatchNorm statistics; None if not requested or not possible.
        memory: The number of items in the memory.
        train_seconds: The duration of the training of this task.
        evaluate_seconds: The duration of its evaluation.
        diagnostics: The method's diagnostics of the task, by name.

    Example:
        >>> from casper.training import TaskDone
        >>> accuracies, average = {0: {"class_il": 90.0}}, {"class_il": 90.0}
        >>> event = TaskDone(0, 0, accuracies, average, None, memory=100, train_seconds=1.5, evaluate_seconds=0.5)
        >>> event.average["class_il"], event.memory
        (90.0, 100)
    """

    phase: int
    task: int
    accuracies: Mapping[int, Accuracies]
    average: Mapping[str, float]
    recalibrated: Mapping[str, float] | None
    memory: int
    train_seconds: float
    evaluate_seconds: float
    diagnostics: Mapping[str, float] = field(default_factory=dict)


# The trainer's state is complete whenever it sends one of these.
Event = RunStarted | TaskStarted | StepDone | TaskTrained | PieceDone | SetTested | TaskDone
Listener = Callable[[Event], None]
