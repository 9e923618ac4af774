"""What a method is, and the one place where a training step is written down."""

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
    """One stretch of training, followed by an evaluation on tasks 0..row.

    Attributes:
        row: The row of the accuracy matrix it fills.
        load: Makes the task to train on.
    """

    row: int
    load: Callable[[], Task]


@renamed_attributes(
    {"piece": "compute"}, arguments={"attach": {"piece": "compute"}, "make_step": {"learnt": "learned"}}
)
class Method(ShowsSettings, ABC):
    """A way to learn from a stream of tasks. It knows no regularizer by name.

    A subclass gives its hyper-parameters to its constructor and overrides, of what follows, the two or three things in
    which it differs; only `losses` has no default. `observe` is the whole of a step and calls the rest.

    Attributes:
        scenarios: The kinds of stream it can learn from.
        keeps_memory: Whether it rehearses from a memory.
        memory_columns: What the memory keeps of an item beside image and label.
        takes_unlabelled: Whether it can learn from a stream that hides labels (-1).
        makes_labels: Whether it labels items itself where labels are hidden.
        needs_maps: Whether it uses the maps of the backbone's stages.
        drops_features: Whether the backbone's dropout, if it has any, acts on what the head sees.
        new_optimizer_each_task: Whether it starts every task with a new optimizer, schedule or not.
        follows_schedule: Whether the learning rate falls at the milestones.
    """

    scenarios: ClassVar[frozenset[Scenario]] = frozenset({"class", "domain"})
    keeps_memory: ClassVar[bool] = True
    memory_columns: ClassVar[Mapping[str, Column]] = {}
    takes_unlabelled: ClassVar[bool] = False
    makes_labels: ClassVar[bool] = False
    needs_maps: ClassVar[bool] = False
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

    # What it is built from

    def check(self, stream: TaskStream, buffer_size: int) -> None:
        """Raise `ParameterError` for a stream or a memory that it cannot work with."""

    def make_head(self, dim: int, num_classes: int) -> nn.Module:
        """Make the head that turns features of shape (n, dim) into logits of shape (n, num_classes).

        A head may give something else where `losses` and `predict` know what it is.
        """
        return nn.Linear(dim, num_classes)

    def make_network(self, backbone: Backbone, num_classes: int, precision: Precision) -> FeatureClassifier:
        """Join a backbone and the method's head; a backbone without the maps that it needs is a `ParameterError`."""
        if self.needs_maps and not backbone.num_maps:
            wanted = f"one with stage maps, such as convnet or resnet18, for {type(self).__name__}"
            raise ParameterError("backbone", wanted, f"{type(backbone).__name__}, which has none")
        head = self.make_head(backbone.dim, num_classes)
        net = FeatureClassifier(backbone, head, precision=precision, dropout=self.drops_features)
        # Convolutions take two thirds of the time on channels-last weights (measured on one core at 16x16).
        if can_be_channels_last(net):
            net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return net

    def make_transform(self, transform: Transform) -> Transform:
        """Make what shows images to the network, in training and in tests; by default it is the stream's."""
        return transform

    def make_optimizer(self, parameters: Iterable[nn.Parameter], lr: float) -> Optimizer:
        """Make the optimizer: plain SGD, without momentum or weight decay, as in the paper's experiments."""
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
        """Set all that `state_dict` holds to what it is before the first task."""

    def phases(self, stream: TaskStream) -> Sequence[Phase]:
        """Plan the training: one phase per task, in order."""
        return [Phase(index, lambda index=index: stream[index]) for index in range(len(stream))]  # type: ignore[misc]

    def training_set(self, task: Task) -> ImageSet:
        """Choose what the epochs of a task run over: a pure function of task and memory."""
        return task.train

    def view(self, images: Tensor, generator: Generator) -> Tensor:
        """Turn stored uint8 images into training inputs."""
        return self.transform.train(images, generator)

    def start_task(self, task: Task) -> None:
        """Prepare for a task. What takes long goes through `compute`, in parts: none of them is then made twice."""

    def end_task(self, task: Task) -> None:
        """Close a task, after its last step and before its evaluation; for what takes long see `start_task`."""

    # One step

    def observe(
        self,
        batch: Batch,
        task: Task,
        progress: Progress,
        optimizer: Optimizer,
        regularizers: Sequence[Regularizer] = (),
    ) -> dict[str, Tensor]:
        """Make one update from a stream batch and return its loss terms by name, each as it was added to the sum.

        Raises:
            NonFiniteLossError: If a term is infinite or NaN. Weights and memory are as before then.
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
        """Gather what the step works on, replayed items included; by default none."""
        return self.make_step(batch, task, progress)

    def forward(self, step: Step) -> Mapping[str, Outputs]:
        """Make the method's own passes: the stream's, then one for each replayed batch; {}: nothing to learn."""
        if not len(step.known):
            return {}
        passes = {"stream": self.net(step.known.inputs)}
        for number, replay in enumerate(step.replays, start=1):
            passes[f"replay {number}" if len(step.replays) > 1 else "replay"] = self.net(replay.inputs)
        return passes

    @abstractmethod
    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the loss terms by name; {}: nothing to learn in this step."""

    def clip(self, parameters: Iterable[nn.Parameter]) -> None:
        """Change the gradients before the update; by default not."""

    def remember(self, step: Step, passes: Mapping[str, Outputs]) -> None:
        """Take items into the memory, after the update; by default none."""

    # Use

    def predict(self, images: Tensor) -> Tensor:
        """Score uint8 images of shape (n, c, h, w): (n, N) scores, the highest wins; -inf: no score for that class."""
        return self.net(self.transform.test(images)).logits

    def with_net(self, net: FeatureClassifier) -> Self:
        """Copy the method for evaluation with another network; what it derived from its own is not carried over."""
        twin = copy(self)
        twin.net = net
        return twin

    def diagnostics(self) -> dict[str, float]:
        """Return numbers about the task just learned, for the log."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes during training, beside network and memory."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""

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
        """Put a step together; for the last two see `Step`. By default it learns from what has a label."""
        if learned is None and self.hides_labels:
            learned = batch[batch.labels >= 0]
        trusts_labels = not (self.hides_labels and self.makes_labels)
        parts = (batch, replays, self.net, self.memory, task, progress, self.batch_size, self.view)
        return Step(*parts, learned, first_labelled, self.hides_labels, trusts_labels)

    def replay_batch(self) -> Batch:
        """Draw up to a batch of distinct items from the memory, uniformly, and augment them afresh."""
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
    """Refuse a memory that cannot hold an item of every class of a stream."""
    met = len({label for task in stream for label in task.classes})
    require(buffer_size >= met, "buffer_size", f"at least {met}, one per class", buffer_size)


def bad_loss(terms: Mapping[str, Tensor], task: Task, progress: Progress, optimizer: Optimizer) -> NonFiniteLossError:
    """Say which loss terms are not finite, and where."""
    bad = ", ".join(f"{name} = {term.item()}" for name, term in terms.items() if not term.isfinite()) or "their sum"
    where = f"task {task.index + 1}, epoch {progress.epoch + 1}, step {progress.step + 1}"
    advice = smaller_rate_advice(optimizer.param_groups[0]["lr"])
    return NonFiniteLossError(f"the loss is not finite in {where}: {bad}; {advice}")
