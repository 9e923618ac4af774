"""What a trainer tells those who listen: small facts, in the order in which they happen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from casper.metrics import Accuracies

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class RunStarted:
    """Everything is built, and the run begins.

    Attributes:
        num_tasks: The length of the stream.
        class_names: The name of each label, in the order of the logits' columns.
        about: What the stream says of its images; may be empty.
        resumed: Whether it goes on from a state.
    """

    num_tasks: int
    class_names: tuple[str, ...]
    about: str
    resumed: bool = False


@dataclass(frozen=True)
class TaskStarted:
    """A phase of training begins, or goes on after `step` steps; phases and tasks are counted from 0."""

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
    """One step was made; `terms` are its loss terms by name: none, if there was nothing to learn.

    They are tensors, and reading one may wait for the device.
    """

    phase: int
    task: int
    epoch: int
    step: int
    terms: Mapping[str, "Tensor"]


@dataclass(frozen=True)
class TaskTrained:
    """The last update of a task was made and the task closed; it is tested next."""

    phase: int
    task: int


@dataclass(frozen=True)
class PieceDone:
    """Something that takes long got on: `done` pieces of it are there, of a task's start or end, or of a test set."""

    done: int


@dataclass(frozen=True)
class SetTested:
    """One of `total` test sets was gone through; `done` of them are."""

    done: int
    total: int


@dataclass(frozen=True)
class TaskDone:
    """A task was learnt and evaluated.

    Attributes:
        phase: Its phase.
        task: The task, which is also the row of the accuracy matrix.
        accuracies: By number of the test task.
        average: By scenario, over the tasks met so far.
        recalibrated: The average with recomputed BatchNorm statistics; None: not asked for or not possible.
        memory: How many items the memory holds.
        train_seconds: The time this task's training took.
        evaluate_seconds: The time its evaluation took.
        diagnostics: What the method says of the task, by name.
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


# The trainer's state is complete whenever it tells one of these.
Event = RunStarted | TaskStarted | StepDone | TaskTrained | PieceDone | SetTested | TaskDone
Listener = Callable[[Event], None]
