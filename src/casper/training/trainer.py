"""The trainer: takes a method through a stream."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import MultiStepLR

from casper.analysis import latent_summary
from casper.errors import require
from casper.memory import Buffer
from casper.methods import Method
from casper.metrics import Record
from casper.nets import Backbone, ConvNet, FeatureClassifier, Precision, can_be_channels_last
from casper.randomness import global_state, method_generators, seed_everything, set_global_state
from casper.regularizers import Regularizer
from casper.step import Progress
from casper.streams import TaskStream
from casper.training.evaluation import can_recalibrate, evaluate, recalibrated, scenarios
from casper.training.events import Event, Listener, RunStarted, StepDone, TaskDone, TaskStarted
from casper.training.fit import check_fit, check_maps
from casper.training.run_state import load_run_state, run_state
from casper.types import Batch, Task


class Trainer:
    """Takes a method through a stream of tasks, with any regularizers, and measures it after every task.

    One seed determines everything: the same seed gives the same bits on the same machine with the same number of
    threads. The state is complete between two tasks: `state_dict` then holds all that is needed to go on.
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
        method.attach(
            net=self.net,
            memory=self.memory,
            transform=stream.transform,
            generators=self.generators,
            batch_size=batch_size,
            num_classes=stream.num_classes,
        )
        for regularizer in self.regularizers:
            regularizer.seed(seed)
        self.phases = method.phases(stream)
        self.record = Record(scenarios(stream.scenario), len(stream))
        self.recalibrated_record = (
            Record(scenarios(stream.scenario), len(stream)) if recalibrate and can_recalibrate(method) else None
        )
        self.optimizer: Optimizer | None = None
        self.finished_phases = 0
        self.steps = 0
        self.seconds = {"train": 0.0, "evaluate": 0.0}
        self.latent: dict[str, float | None] = {}
        self.global_state = global_state()

    def run(self) -> dict[str, Any]:
        """Train on every task that is left, evaluate after each, and return the metrics (see `metrics`)."""
        wanted = "used by one trainer at a time; build the next one after this one has run"
        require(self.method.net is self.net, "method", wanted, type(self.method).__name__)
        set_global_state(self.global_state)  # whatever has been drawn since this trainer was built
        self._tell(RunStarted(len(self.stream), self.stream.class_names, self.stream.about))
        if self.finished_phases == 0:
            self._evaluate_untrained()
        for number in range(self.finished_phases, len(self.phases)):
            self.run_phase(number)
        self._measure_latent_space()
        return self.metrics()

    def run_phase(self, number: int) -> None:
        """Train on one phase's task and evaluate."""
        phase = self.phases[number]
        task = phase.load().to(self.device)
        start = time.perf_counter()
        self._train(number, task)
        trained = time.perf_counter()
        self._evaluate(phase.row, self.method, self.record, up_to=phase.row + 1)
        second = None
        if self.recalibrated_record is not None and len(self.memory):
            twin = recalibrated(self.method, self.seed, self.batch_size)
            self._evaluate(phase.row, twin, self.recalibrated_record, up_to=phase.row)
            second = self.recalibrated_record.average(phase.row)
        evaluated = time.perf_counter()
        self.seconds["train"] += trained - start
        self.seconds["evaluate"] += evaluated - trained
        self.finished_phases = number + 1
        self._tell(
            TaskDone(
                number,
                phase.row,
                accuracies=self.record.row(phase.row),
                average=self.record.average(phase.row),
                recalibrated=second,
                memory=len(self.memory),
                train_seconds=trained - start,
                evaluate_seconds=evaluated - trained,
                diagnostics=self.method.diagnostics(),
            )
        )

    def metrics(self) -> dict[str, Any]:
        """Gather what was measured, in the layout of `metrics.json`; nothing but `seconds` differs between two runs."""
        record = self.recalibrated_record
        return {
            **self.record.summaries(),
            "recalibrated": None if record is None else record.summaries(),
            "latent": dict(self.latent),
            "seconds": {**self.seconds, "total": sum(self.seconds.values())},
            "steps": self.steps,
        }

    def state_dict(self) -> dict[str, Any]:
        """Return everything that changes during training; see `run_state`."""
        return run_state(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of a trainer built in the same way."""
        load_run_state(self, state)

    def _train(self, phase: int, task: Task) -> None:
        if self.optimizer is None or self.milestones or self.method.new_optimizer_each_task:
            self.optimizer = self.make_optimizer()
        milestones = list(self.milestones) if self.method.follows_schedule else []
        scheduler = MultiStepLR(self.optimizer, milestones, self.gamma) if milestones else None
        active = [regularizer for regularizer in self.regularizers if regularizer.weight != 0]
        self.net.train()
        self.method.start_task(task)
        for regularizer in active:
            regularizer.start_task(task, self.net)
        data = self.method.training_set(task)
        steps_per_epoch = -(-len(data) // self.batch_size)
        self._tell(
            TaskStarted(phase, len(self.phases), task.index, task.num_tasks, len(data), self.epochs, steps_per_epoch)
        )
        for epoch in range(self.epochs):
            order = torch.randperm(len(data), generator=self.generators["order"])
            for step, rows in enumerate(order.split(self.batch_size)):
                part = data[rows.to(self.device)]
                inputs = self.method.view(part.images, self.generators["augment"])
                progress = Progress(epoch, self.epochs, epoch * steps_per_epoch + step)
                batch = Batch(part.images, part.labels, inputs)
                terms = self.method.observe(batch, task, progress, self.optimizer, active)
                self.steps += 1
                self._tell(StepDone(phase, task.index, epoch, progress.step, terms))
            if scheduler is not None:
                scheduler.step()
        self.method.end_task(task)
        for regularizer in active:
            regularizer.end_task(task, self.net)

    def make_optimizer(self) -> Optimizer:
        """Make a new optimizer of the network, at the full learning rate."""
        return self.method.make_optimizer(self.net.parameters(), self.lr)

    def _evaluate(self, row: int, method: Method, record: Record, *, up_to: int) -> None:
        """Fill a row of the matrix: the tasks met so far and, where asked for, the next one (forward transfer)."""
        for index in range(min(up_to + 1, len(self.stream))):
            record.put(row, index, evaluate(method, self.stream[index].to(self.device), self.stream.scenario))

    def _evaluate_untrained(self) -> None:
        start = time.perf_counter()
        for index, task in enumerate(self.stream):
            self.record.put_untrained(index, evaluate(self.method, task.to(self.device), self.stream.scenario))
        self.seconds["evaluate"] += time.perf_counter() - start

    def _measure_latent_space(self) -> None:
        start = time.perf_counter()
        tests = (task.to(self.device).test for task in self.stream)
        transform, num_classes = self.stream.transform, self.stream.num_classes
        self.latent = latent_summary(self.net, tests, self.memory, transform, num_classes)
        self.seconds["evaluate"] += time.perf_counter() - start

    def _tell(self, event: Event) -> None:
        for listener in self.listeners:
            listener(event)
