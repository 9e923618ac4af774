"""The base class of methods, which defines the training step."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Generator, Tensor, nn
from torch.optim import SGD, Optimizer

from casper._deprecated import renamed_arguments, renamed_attributes
from casper._repr import ShowsSettings
from casper.errors import NonFiniteLossError, ParameterError, require, smaller_rate_advice
from casper.memory import Buffer, Column
from casper.nets import Backbone, Compute, FeatureClassifier, Precision, can_be_channels_last, compute_now
from casper.regularizers import Regularizer
from casper.step import Progress, Step
from casper.streams import TaskStream, Transform
from casper.types import Batch, ImageSet, Outputs, Scenario, Task


@dataclass(frozen=True)
class Phase:
    """A phase of training, followed by an evaluation on tasks 0 to `row`.

    Attributes:
        row: The row of the accuracy matrix that the evaluation fills.
        load: Returns the task to train on.

    Example:
        >>> from casper import ER, Joint, split_digits
        >>> [phase.row for phase in ER().phases(split_digits())]
        [0, 1, 2, 3, 4]
        >>> [phase.row for phase in Joint().phases(split_digits())]  # one phase on all tasks
        [4]
    """

    row: int
    load: Callable[[], Task]


@renamed_attributes(
    {"piece": "compute"}, arguments={"attach": {"piece": "compute"}, "make_step": {"learnt": "learned"}}
)
class Method(ShowsSettings, ABC):
    """Base class of methods, which learn from a stream of tasks. Methods do not depend on regularizers.

    A subclass takes its hyper-parameters in its constructor and overrides the few functions in which it differs; only
    `losses` has no default. `observe` performs a whole training step and calls the other functions.

    Attributes:
        scenarios: The kinds of stream it supports.
        keeps_memory: Whether it replays items from a memory.
        memory_columns: The columns of the memory besides images and labels.
        takes_unlabelled: Whether it can learn from a stream that hides labels (-1).
        makes_labels: Whether it assigns labels to items with hidden labels.
        needs_maps: Whether it uses the stage maps of the backbone.
        needs_images: Whether it changes the images of a stream, so that it cannot learn from feature vectors.
        drops_features: Whether the backbone's dropout, if any, is applied to the input of the head.
        new_optimizer_each_task: Whether every task starts with a new optimizer, even without a schedule.
        follows_schedule: Whether the learning rate is reduced at the milestones.

    Example:
        >>> import torch.nn.functional as F
        >>> from casper import MLP, Method, Trainer, split_digits
        >>> class Plain(Method):
        ...     keeps_memory = False
        ...     def losses(self, step, passes):
        ...         return {"stream": F.cross_entropy(passes["stream"].logits, step.stream.labels)}
        >>> Trainer(split_digits(), Plain(), backbone=MLP).run()["steps"]
        20
    """

    scenarios: ClassVar[frozenset[Scenario]] = frozenset({"class", "domain"})
    keeps_memory: ClassVar[bool] = True
    memory_columns: ClassVar[Mapping[str, Column]] = {}
    takes_unlabelled: ClassVar[bool] = False
    makes_labels: ClassVar[bool] = False
    needs_maps: ClassVar[bool] = False
    needs_images: ClassVar[bool] = False
    drops_features: ClassVar[bool] = True
    new_optimizer_each_task: ClassVar[bool] = False
    follows_schedule: bool = True

    net: FeatureClassifier
    memory: Buffer
    transform: Transform
    generators: Mapping[str, Generator]
    batch_size: int
    num_classes: int
    hides_labels: bool
    compute: Compute = staticmethod(compute_now)

    # Construction

    def check(self, stream: TaskStream, buffer_size: int) -> None:
        """Raise `ParameterError` if the stream or the size of the memory is not supported."""

    def make_head(self, dim: int, num_classes: int) -> nn.Module:
        """Create the head, which computes logits of shape (n, num_classes) from features of shape (n, dim).

        A head may return other outputs if `losses` and `predict` support them.
        """
        return nn.Linear(dim, num_classes)

    def make_network(self, backbone: Backbone, num_classes: int, precision: Precision) -> FeatureClassifier:
        """Join a backbone and the head, which the backbone may initialise.

        Raises:
            ParameterError: If the backbone lacks required maps.
        """
        if self.needs_maps and not backbone.num_maps:
            wanted = f"one with stage maps, such as convnet or resnet18, for {type(self).__name__}"
            raise ParameterError("backbone", wanted, f"{type(backbone).__name__}, which has none")
        head = self.make_head(backbone.dim, num_classes)
        backbone.initialize_head(head)
        net = FeatureClassifier(backbone, head, precision=precision, dropout=self.drops_features)
        # Channels-last weights reduce the time of convolutions to two thirds (measured on one core at 16x16).
        if can_be_channels_last(net):
            net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return net

    def make_transform(self, transform: Transform) -> Transform:
        """Create the transform of images for training and evaluation; by default that of the stream."""
        return transform

    def make_optimizer(self, parameters: Iterable[nn.Parameter], lr: float) -> Optimizer:
        """Create the optimizer: plain SGD, without momentum or weight decay, as in the paper's experiments."""
        return SGD(parameters, lr=lr)

    @renamed_arguments(piece="compute")
    def attach(
        self,
        *,
        net: FeatureClassifier,
        memory: Buffer,
        transform: Transform,
        generators: Mapping[str, Generator],
        batch_size: int,
        num_classes: int,
        hides_labels: bool = False,
        compute: Compute = compute_now,
    ) -> None:
        """Bind network, memory and generators, and reset the method's state; called once, before the first task."""
        self.net = net
        self.memory = memory
        self.transform = self.make_transform(transform)
        self.generators = generators
        self.batch_size = batch_size
        self.num_classes = num_classes
        self.hides_labels = hides_labels
        self.compute = compute
        self.reset()

    def reset(self) -> None:
        """Reset everything in `state_dict` to its value before the first task."""

    def phases(self, stream: TaskStream) -> Sequence[Phase]:
        """Return the phases of training: one per task, in order."""
        return [Phase(index, lambda index=index: stream[index]) for index in range(len(stream))]  # type: ignore[misc]

    def training_set(self, task: Task) -> ImageSet:
        """Return the images of a task's epochs; must be a pure function of task and memory."""
        return task.train

    def view(self, images: Tensor, generator: Generator) -> Tensor:
        """Convert stored uint8 images to training inputs."""
        return self.transform.train(images, generator)

    def start_task(self, task: Task) -> None:
        """Prepare for a task. Run long computations in parts through `compute`, so that none is repeated on resume."""

    def end_task(self, task: Task) -> None:
        """Finish a task, after its last step and before its evaluation; for long computations see `start_task`."""

    # One step

    def observe(
        self,
        batch: Batch,
        task: Task,
        progress: Progress,
        optimizer: Optimizer,
        regularizers: Sequence[Regularizer] = (),
    ) -> dict[str, Tensor]:
        """Perform one update from a stream batch and return the weighted loss terms by name.

        Raises:
            NonFiniteLossError: If a term is infinite or NaN. In this case weights and memory are unchanged.
        """
        step = self.draw(batch, task, progress)
        passes = self.forward(step)
        terms = self.losses(step, passes)
        for regularizer in regularizers:
            term = regularizer.term(step, passes)
            if term is not None:
                terms[regularizer.name] = term
        if any(term.requires_grad for term in terms.values()):
            total = torch.stack(list(terms.values())).sum()
            if not total.isfinite():
                raise bad_loss(terms, task, progress, optimizer)
            optimizer.zero_grad()
            total.backward()
            self.clip(self.net.parameters())
            optimizer.step()
        self.remember(step, passes)
        return {name: term.detach() for name, term in terms.items()}

    def draw(self, batch: Batch, task: Task, progress: Progress) -> Step:
        """Collect the data of the step, including replayed items; by default there are none."""
        return self.make_step(batch, task, progress)

    def forward(self, step: Step) -> Mapping[str, Outputs]:
        """Run the forward passes of the stream and of each replayed batch; {} if there is nothing to learn."""
        if not len(step.known):
            return {}
        passes = {"stream": self.net(step.known.inputs)}
        for number, replay in enumerate(step.replays, start=1):
            passes[f"replay {number}" if len(step.replays) > 1 else "replay"] = self.net(replay.inputs)
        return passes

    @abstractmethod
    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the loss terms by name; {} if there is nothing to learn in this step."""

    def clip(self, parameters: Iterable[nn.Parameter]) -> None:
        """Modify the gradients before the update; by default a no-op."""

    def remember(self, step: Step, passes: Mapping[str, Outputs]) -> None:
        """Insert items into the memory, after the update; by default none."""

    # Prediction and state

    def predict(self, images: Tensor) -> Tensor:
        """Compute scores of shape (n, N) for uint8 images of shape (n, c, h, w); -inf if a class has no score."""
        return self.net(self.transform.test(images)).logits

    def with_net(self, net: FeatureClassifier) -> Self:
        """Copy the method for evaluation with another network; values derived from the original are discarded."""
        twin = copy(self)
        twin.net = net
        return twin

    def diagnostics(self) -> dict[str, float]:
        """Return statistics of the last task for the log."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return everything that changes during training, except network and memory."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""

    # For subclasses

    @renamed_arguments(learnt="learned")
    def make_step(
        self,
        batch: Batch,
        task: Task,
        progress: Progress,
        replays: tuple[Batch, ...] = (),
        *,
        learned: Batch | None = None,
        first_labelled: int = 0,
    ) -> Step:
        """Build a step; for the last two arguments see `Step`. By default, all labelled items are learned from."""
        if learned is None and self.hides_labels:
            learned = batch[batch.labels >= 0]
        trusts_labels = not (self.hides_labels and self.makes_labels)
        parts = (batch, replays, self.net, self.memory, task, progress, self.batch_size, self.view)
        return Step(*parts, learned, first_labelled, self.hides_labels, trusts_labels)

    def replay_batch(self) -> Batch:
        """Draw up to a batch of distinct items uniformly from the memory, and augment them."""
        rows = self.memory.draw_uniform(self.batch_size, self.generators["replay"])
        images = self.memory.images.index_select(0, rows)
        return Batch(
            images,
            self.memory.labels[rows],
            self.view(images, self.generators["augment"]),
            rows,
            {name: column[rows] for name, column in self.memory.columns.items()},
        )


def require_a_row_per_class(stream: TaskStream, buffer_size: int) -> None:
    """Raise `ParameterError` if the memory cannot hold an item of every class of a stream."""
    classes = len({label for task in stream for label in task.classes})
    require(buffer_size >= classes, "buffer_size", f"at least {classes}, one per class", buffer_size)


def bad_loss(terms: Mapping[str, Tensor], task: Task, progress: Progress, optimizer: Optimizer) -> NonFiniteLossError:
    """Create the error that reports which loss terms are not finite, and in which step."""
    bad = ", ".join(f"{name} = {term.item()}" for name, term in terms.items() if not term.isfinite()) or "their sum"
    where = f"task {task.index + 1}, epoch {progress.epoch + 1}, step {progress.step + 1}"
    advice = smaller_rate_advice(optimizer.param_groups[0]["lr"])
    return NonFiniteLossError(f"the loss is not finite in {where}: {bad}; {advice}")
