"""The trainer: takes a method through a stream."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, MultiStepLR

from casper.errors import require
from casper.memory import Buffer
from casper.methods import Method
from casper.metrics import Record
from casper.nets import Backbone, ConvNet, FeatureClassifier, Precision, can_be_channels_last
from casper.randomness import global_state, method_generators, seed_everything, set_global_state
from casper.regularizers import Regularizer
from casper.streams import TaskStream
from casper.training.evaluation import can_recalibrate, scenarios
from casper.training.events import Event, Listener, RunStarted, TaskDone, TaskStarted
from casper.training.fit import check_fit, check_maps
from casper.training.measuring import measure_after_phase, measure_latent_space, measure_untrained
from casper.training.phase import train
from casper.training.pieces import Pieces
from casper.training.position import Position
from casper.training.run_state import load_run_state, run_state
from casper.types import Task

_NO_TIME = {"train": 0.0, "evaluate": 0.0}


class Trainer:
    """Takes a method through a stream of tasks, with any regularizers, and measures it after every task.

    One seed determines everything: the same seed gives the same bits on the same machine with the same number of
    threads. Whenever an event is told, `state_dict` holds all that is needed to go on to the same end: load it into a
    trainer built alike, and `run`.
    """

    def __init__(
        self,
        stream: TaskStream,
        method: Method,
        *,
        regularizers: Sequence[Regularizer] = (),
        backbone: Callable[[tuple[int, int, int]], Backbone] = ConvNet,
        buffer_size: int = 0,
        epochs: int = 1,
        batch_size: int = 64,
        lr: float = 0.1,
        milestones: Sequence[int] = (),
        gamma: float = 0.1,
        seed: int = 0,
        device: str = "cpu",
        precision: Precision = "fp32",
        recalibrate: bool = False,
        listeners: Sequence[Listener] = (),
    ) -> None:
        """Build the network, the memory and the random generators.

        Args:
            stream: What to learn.
            method: How to learn it.
            regularizers: Terms added to the method's loss, in this order.
            backbone: Makes the backbone from an image shape: a class such as `ConvNet`, or a `functools.partial`.
            buffer_size: The number of items the memory holds; ignored by methods that keep none.
            epochs: The number of passes over each task.
            batch_size: The number of stream items in a step, and of replayed ones.
            lr: The learning rate.
            milestones: The epochs of a task after which the learning rate is multiplied by gamma. With any, every task
                starts with a new optimizer at the full rate.
            gamma: See milestones.
            seed: Determines everything random.
            device: Where to train: `"cpu"`, `"cuda"`, `"cuda:1"`.
            precision: `"fp32"` or `"bf16"`.
            recalibrate: Whether to evaluate a second time after every task, with BatchNorm statistics recomputed from
                the memory. Training and the first evaluation do not change by a bit.
            listeners: Called with every event.

        Raises:
            ParameterError: If the parts do not fit together.
        """
        require(epochs >= 1, "epochs", "at least 1", epochs)
        require(0 < lr < float("inf"), "lr", "a positive finite number", lr)
        require(0 < gamma < float("inf"), "gamma", "a positive finite number", gamma)
        require(all(milestone >= 1 for milestone in milestones), "milestones", "at least 1 each", milestones)
        check_fit(stream, method, regularizers, buffer_size=buffer_size, batch_size=batch_size)
        self.stream = stream
        self.method = method
        self.regularizers = tuple(regularizers)
        self.epochs, self.batch_size, self.lr = epochs, batch_size, lr
        self.milestones, self.gamma = tuple(milestones), gamma
        self.seed, self.device = seed, device
        self.listeners = tuple(listeners)

        seed_everything(seed, device)
        body = backbone(stream.image_shape)
        check_maps(method, body)
        head = method.make_head(body.dim, stream.num_classes)
        # Convolutions take two thirds of the time on channels-last weights (measured on one core at 16x16).
        self.net = FeatureClassifier(body, head, precision=precision, dropout=method.drops_features).to(device)
        if can_be_channels_last(self.net):
            self.net = self.net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.memory = Buffer(
            buffer_size if method.keeps_memory else 0,
            stream.image_shape,
            columns=method.memory_columns,
            num_classes=stream.num_classes,
            device=device,
        )
        self.generators = method_generators(seed)
        self.pieces = Pieces(self)
        method.attach(
            net=self.net,
            memory=self.memory,
            transform=stream.transform,
            generators=self.generators,
            batch_size=batch_size,
            num_classes=stream.num_classes,
            hides_labels=stream.hides_labels,
            piece=self.pieces.compute,
        )
        for regularizer in self.regularizers:
            regularizer.seed(seed)
        self.phases = method.phases(stream)
        self.record = Record(scenarios(stream.scenario), len(stream))
        self.recalibrated_record = (
            Record(scenarios(stream.scenario), len(stream)) if recalibrate and can_recalibrate(method) else None
        )
        self.optimizer: Optimizer | None = None
        self.scheduler: LRScheduler | None = None
        self.position = Position()
        self.resumed = False
        self.data: list[str] = []
        self.steps = 0
        self.seconds, self.task_seconds = dict(_NO_TIME), dict(_NO_TIME)
        self.statistics: Tensor | None = None
        self.features: list[tuple[Tensor, Tensor]] = []
        self.latent: dict[str, float | None] = {}
        self.global_state = global_state()
        self._booked = time.perf_counter()

    def run(self) -> dict[str, Any]:
        """Do all that is left of the run and return the metrics (see `metrics`)."""
        wanted = "used by one trainer at a time; build the next one after this one has run"
        require(self.method.net is self.net, "method", wanted, type(self.method).__name__)
        self._begin_anew_what_was_stopped()
        self.data = self.data or self.fingerprint()
        set_global_state(self.global_state)  # whatever has been drawn since this trainer was built, or stopped
        self._booked = time.perf_counter()
        try:
            self.tell(RunStarted(len(self.stream), self.stream.class_names, self.stream.about, self.resumed))
            if self.position.stage == "untrained":
                measure_untrained(self)
            while self.position.phase < len(self.phases):
                self.run_phase()
            if not self.latent:
                measure_latent_space(self)
        finally:
            self.global_state = global_state()
        return self.metrics()

    def run_phase(self) -> None:
        """Train on the next phase's task, or what is left of it, and test."""
        self._begin_anew_what_was_stopped()
        phase = self.phases[self.position.phase]
        task = phase.load().to(self.device)
        if self.position.stage in ("training", "testing"):
            self.tell_started(task, resumed=True)
        if self.position.stage != "testing":
            train(self, task)
        measure_after_phase(self, phase.row)
        number, seconds, second = self.position.phase, self.task_seconds, self.recalibrated_record
        self.move(Position.before(number + 1))
        self.tell(
            TaskDone(
                number,
                phase.row,
                accuracies=self.record.row(phase.row),
                average=self.record.average(phase.row),
                recalibrated=second.average(phase.row) if second is not None and len(self.memory) else None,
                memory=len(self.memory),
                train_seconds=seconds["train"],
                evaluate_seconds=seconds["evaluate"],
                diagnostics=self.method.diagnostics(),
            )
        )

    def _begin_anew_what_was_stopped(self) -> None:
        """Go back to the start of what a listener stopped in its midst; its pieces are kept."""
        if self.pieces.under_way:
            self.load_state_dict(self.state_dict())

    def metrics(self) -> dict[str, Any]:
        """Gather what was measured, in the layout of `metrics.json`; nothing but `seconds` differs between two runs."""
        record = self.recalibrated_record
        return {
            **self.record.summaries(),
            "recalibrated": None if record is None else record.summaries(),
            "latent": dict(self.latent),
            "seconds": {**self.seconds, "total": sum(self.seconds.values())},
            "steps": self.steps,
            "tasks": [[self.stream.class_names[label] for label in task.classes] for task in self.stream],
        }

    def state_dict(self) -> dict[str, Any]:
        """Return everything that changes during training; see `run_state`."""
        return self.pieces.complete(run_state(self))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of a trainer built in the same way."""
        load_run_state(self, state)

    def make_optimizer(self) -> Optimizer:
        """Make a new optimizer of the network, at the full learning rate."""
        return self.method.make_optimizer(self.net.parameters(), self.lr)

    def make_scheduler(self, optimizer: Optimizer) -> LRScheduler | None:
        """Make what lowers an optimizer's rate in the course of a task; None: it stays."""
        milestones = list(self.milestones) if self.method.follows_schedule else []
        return MultiStepLR(optimizer, milestones, self.gamma) if milestones else None

    def fingerprint(self) -> list[str]:
        """Tell this stream's images from others: all test sets, and the training images of the first task."""
        return [self.stream[0].train.checksum(), *(task.test.checksum() for task in self.stream)]

    def move(self, position: Position) -> None:
        """Stand somewhere else, with no time spent there."""
        self.position, self.task_seconds = position, dict(_NO_TIME)

    def book(self, kind: str) -> None:
        """Put the time since the last call down to a kind of work."""
        now = time.perf_counter()
        self.seconds[kind] += now - self._booked
        self.task_seconds[kind] += now - self._booked
        self._booked = now

    def tell_started(self, task: Task, *, resumed: bool = False) -> None:
        """Tell that a task has been started, or goes on."""
        at = self.position
        sizes = {"images": at.images, "epochs": self.epochs, "steps_per_epoch": at.steps_per_epoch}
        self.tell(
            TaskStarted(at.phase, len(self.phases), task.index, task.num_tasks, **sizes, step=at.step, resumed=resumed)
        )

    def tell(self, event: Event) -> None:
        """Call every listener with an event; the state is complete."""
        for listener in self.listeners:
            listener(event)
