"""What one update may look at."""

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
    """Where in a task the training is; all counted from 0."""

    epoch: int
    epochs: int
    step: int


@dataclass(frozen=True, repr=False)
class Step(ShowsSettings):
    """A view of everything one update may look at.

    Whoever gets it changes nothing, except that a forward pass in training mode updates BatchNorm's statistics.

    Attributes:
        stream: The batch from the stream, all of it, labelled or not.
        replays: The method's own draws from the memory, in order.
        net: The network under training.
        memory: The memory; empty for methods that keep none.
        task: The task being learned.
        progress: Where in the task.
        batch_size: The size of a full stream batch; the last one of an epoch may be smaller.
        view: Turns stored uint8 images into inputs as the method trains on them (crop, flip, normalise).
        learned: The part of the stream batch whose labels the method learns from; None: all of it. See `known`.
        first_labelled: The method learns from the replays by their labels from this one on.
        hides_labels: Whether labels of the stream may be hidden.
        trusts_labels: Whether the memory's labels are those of the data set, not made by the network.
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
        """What of the stream batch the method learns from by its labels; never one whose label is hidden."""
        return self.stream if self.learned is None else self.learned

    learnt = renamed_attribute("learnt", "learned")


Step.__init__ = renamed_arguments(learnt="learned")(Step.__init__)  # type: ignore[method-assign]
