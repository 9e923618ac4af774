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
    """

    num_tasks: int
    class_names: tuple[str, ...]
    about: str
    resumed: bool = False


@dataclass(frozen=True)
class TaskStarted:
    """A phase of training starts, or resumes after `step` steps; phases and tasks are counted from 0."""

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
    """

    phase: int
    task: int
    epoch: int
    step: int
    terms: Mapping[str, "Tensor"]


@dataclass(frozen=True)
class TaskTrained:
    """The training of a task is done; its evaluation follows."""

    phase: int
    task: int


@dataclass(frozen=True)
class PieceDone:
    """A part of a long computation is done, at the start or end of a task or on a test set; `done` parts so far."""

    done: int


@dataclass(frozen=True)
class SetTested:
    """A test set is done; `done` of `total` so far."""

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
