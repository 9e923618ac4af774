"""The data that one training step provides to a method and its regularizers."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Generator, Tensor

from casper._deprecated import renamed_arguments, renamed_attribute
from casper._repr import ShowsSettings
from casper.memory import Buffer
from casper.nets import FeatureClassifier
from casper.types import Batch, Task

View = Callable[[Tensor, Generator], Tensor]


@dataclass(frozen=True)
class Progress:
    """The position of the training within a task.

    Attributes:
        epoch: The current epoch, from 0.
        epochs: The number of epochs.
        step: The current step of the task, from 0.

    Example:
        >>> from casper import Progress
        >>> Progress(epoch=0, epochs=5, step=12)
        Progress(epoch=0, epochs=5, step=12)
    """

    epoch: int
    epochs: int
    step: int


@dataclass(frozen=True, repr=False)
class Step(ShowsSettings):
    """The data of one update: the stream batch, the replayed batches, the network, the memory and the task.

    It is read-only, except that a forward pass in training mode updates BatchNorm's statistics.

    Attributes:
        stream: The whole batch from the stream, labelled or not.
        replays: The method's draws from the memory, in order.
        net: The network being trained.
        memory: The memory; empty for methods without one.
        task: The current task.
        progress: The position within the task.
        batch_size: The size of a full stream batch; the last one of an epoch may be smaller.
        view: Converts stored uint8 images to training inputs of the method (crop, flip, normalise).
        learned: The part of the stream batch whose labels the method learns from; None for all of it. See `known`.
        first_labelled: The index of the first replay whose labels the method learns from.
        hides_labels: Whether labels of the stream may be hidden.
        trusts_labels: Whether the memory's labels are those of the data set, not predicted by the network.

    Example:
        A regularizer computes its loss from the step:

        >>> from casper import Finetune, Regularizer, Trainer, split_digits
        >>> class FeatureNorm(Regularizer):
        ...     name, generator_name, needs_memory, weight = "feature-norm", "feature-norm", False, 0.01
        ...     def loss(self, step, passes, generator):
        ...         return step.net(step.stream.inputs).features.square().mean()
        >>> metrics = Trainer(split_digits()[:1], Finetune(), regularizers=[FeatureNorm()]).run()
        >>> metrics["steps"]
        4
    """

    stream: Batch
    replays: tuple[Batch, ...]
    net: FeatureClassifier
    memory: Buffer
    task: Task
    progress: Progress
    batch_size: int
    view: View
    learned: Batch | None = None
    first_labelled: int = 0
    hides_labels: bool = False
    trusts_labels: bool = True

    @property
    def known(self) -> Batch:
        """The items of the stream batch whose labels the method learns from; their labels are never hidden."""
        return self.stream if self.learned is None else self.learned

    learnt = renamed_attribute("learnt", "learned")


Step.__init__ = renamed_arguments(learnt="learned")(Step.__init__)  # type: ignore[method-assign]
