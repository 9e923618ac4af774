"""The trainer: trains a method on a stream of tasks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, MultiStepLR

from casper import randomness
from casper._deprecated import TRAINER_ATTRIBUTES, renamed_attributes
from casper._repr import ShowsSettings
from casper.errors import ParameterError, require
from casper.memory import Buffer
from casper.methods import Method, Phase
from casper.nets import Backbone, ConvNet, Precision, check_weights
from casper.regularizers import Regularizer
from casper.step import Progress
from casper.streams import TaskStream
from casper.training import events
from casper.training.compatibility import check_compatible, check_settings
from casper.training.evaluation import Evaluator
from casper.training.resumable import ResumableWork
from casper.training.state import Position, Stopwatch
from casper.types import Batch, ImageSet, Task


@renamed_attributes(TRAINER_ATTRIBUTES)
class Trainer(ShowsSettings):
    """Trains a method on a stream of tasks, with any regularizers, and evaluates it after every task.

    The seed determines all random numbers: the same seed gives bit-identical results on the same machine with the same
    number of threads. Whenever listeners are called, `state_dict` returns a complete state: to resume, load it into a
    trainer built in the same way and call `run`.

    Example:
        >>> from casper import ER, Trainer, split_digits
        >>> trainer = Trainer(split_digits()[:2], ER(), buffer_size=100)
        >>> metrics = trainer.run()
        >>> metrics["steps"], len(trainer.memory)
        (8, 100)
    """

    def __init__(
        self,
        stream: TaskStream,
        method: Method,
        *,
        regularizers: Sequence[Regularizer] = (),
        backbone: Callable[..., Backbone] = ConvNet,
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
        listeners: Sequence[events.Listener] = (),
    ) -> None:
        """Build the network, the memory and the random generators.

        Args:
            stream: The stream of tasks.
            method: The continual-learning method.
            regularizers: Terms added to the method's loss, in this order.
            backbone: Creates the backbone from an image shape: a class such as `ConvNet`, or a `functools.partial`.
            buffer_size: The number of items in the memory; ignored by methods without one.
            epochs: The number of passes over each task.
            batch_size: The number of stream items in a step, and of replayed ones.
            lr: The learning rate.
            milestones: Epochs after which `lr` is multiplied by `gamma`; if given, each task gets a new optimizer.
            gamma: See milestones.
            seed: The seed of all random numbers.
            device: The device for training: `"cpu"`, `"cuda"`, `"cuda:1"`.
            precision: `"fp32"` or `"bf16"`.
            recalibrate: Whether to evaluate a second time after every task, with BatchNorm statistics recomputed from
                the memory. Training and the first evaluation are not affected.
            listeners: Called with every event.

        Raises:
            ParameterError: If the parts are not compatible.
        """
        check_settings(epochs, lr, milestones, gamma)
        check_compatible(stream, method, regularizers, backbone, buffer_size=buffer_size, batch_size=batch_size)
        self.stream, self.method, self.regularizers = stream, method, tuple(regularizers)
        self.epochs, self.batch_size, self.lr = epochs, batch_size, lr
        self.milestones, self.gamma = tuple(milestones), gamma
        self.seed, self.device, self.listeners = seed, device, tuple(listeners)

        randomness.seed_everything(seed, device)
        self.net = method.make_network(backbone(stream.image_shape), stream.num_classes, precision).to(device)
        self.memory = Buffer(
            buffer_size if method.keeps_memory else 0,
            stream.item_shape,
            columns=method.memory_columns,
            num_classes=stream.num_classes,
            device=device,
            dtype=stream.item_type,
        )
        self.generators = randomness.method_generators(seed)
        self.work = ResumableWork(self.generators, self._state, self._notify_computed)
        method.attach(
            net=self.net,
            memory=self.memory,
            transform=stream.transform,
            generators=self.generators,
            batch_size=batch_size,
            num_classes=stream.num_classes,
            hides_labels=stream.hides_labels,
            compute=self.work.compute,
        )
        for regularizer in self.regularizers:
            regularizer.seed(seed)
        self.phases = method.phases(stream)
        self.evaluator = Evaluator(stream, method, self.work, recalibrate=recalibrate, seed=seed, device=device)
        self.optimizer: Optimizer | None = None
        self.scheduler: LRScheduler | None = None
        self.position, self.stopwatch, self.steps, self.resumed = Position(), Stopwatch(), 0, False
        self.checksums: list[str] = []
        self.global_state = randomness.global_state()

    def run(self) -> dict[str, Any]:
        """Run to the end, from the start or from a loaded state, and return the metrics (see `metrics`)."""
        self._prepare()
        try:
            self.notify(events.RunStarted(len(self.stream), self.stream.class_names, self.stream.about, self.resumed))
            if self.position.stage == "untrained":
                self._measure(self.evaluator.test_untrained)
                self._move_before(0)
            while self.position.phase < len(self.phases):
                self.run_phase()
            if not self.evaluator.latent:
                self._measure(self.evaluator.summarize_latent_space)
        finally:
            self.global_state = randomness.global_state()
        return self.metrics()

    def run_phase(self) -> None:
        """Train on the task of the next phase, or the rest of it, and evaluate."""
        self._replay_interrupted_unit()
        phase = self.phases[self.position.phase]
        task = phase.load().to(self.device)
        if self.position.stage in ("training", "testing"):
            self._notify_started(task, resumed=True)
        if self.position.stage != "testing":
            self._train(task)
        self._measure(partial(self.evaluator.test_after, phase.row))
        self._finish(phase)

    def metrics(self) -> dict[str, Any]:
        """Return the results in the layout of `metrics.json`; only `seconds` differs between two identical runs."""
        return {
            **self.evaluator.summaries(),
            "seconds": {**self.stopwatch.run, "total": sum(self.stopwatch.run.values())},
            "steps": self.steps,
            "tasks": [[self.stream.class_names[label] for label in task.classes] for task in self.stream],
        }

    def notify(self, event: events.Event) -> None:
        """Call every listener with an event; the state is complete."""
        for listener in self.listeners:
            listener(event)

    def make_optimizer(self) -> Optimizer:
        """Create an optimizer of the network at the initial learning rate."""
        return self.method.make_optimizer(self.net.parameters(), self.lr)

    def make_scheduler(self, optimizer: Optimizer) -> LRScheduler | None:
        """Create the learning-rate scheduler of a task; returns None if the rate is constant."""
        milestones = list(self.milestones) if self.method.follows_schedule else []
        return MultiStepLR(optimizer, milestones, self.gamma) if milestones else None

    def _prepare(self) -> None:
        """Restore the random numbers of the run and restart its stopwatch."""
        wanted = "used by one trainer at a time (build the next one after this one has run)"
        require(self.method.net is self.net, "method", wanted, type(self.method).__name__)
        self._replay_interrupted_unit()
        self.checksums = self.checksums or self.stream.checksums()
        randomness.set_global_state(self.global_state)  # other code may have drawn since
        self.stopwatch.restart()

    def _replay_interrupted_unit(self) -> None:
        """Return to the start of a unit that a listener interrupted; its results are cached."""
        if self.work.under_way:
            self.load_state_dict(self.state_dict())

    def _train(self, task: Task) -> None:
        """Do the remaining steps of a task and end it; a task that was started is not started again."""
        self.net.train()
        data = self._resumed_data(task) if self.position.stage == "training" else self._start(task)
        while self.position.step < self.epochs * self.position.steps_per_epoch:
            self._step(task, data)
        self._end(task)

    def _start(self, task: Task) -> ImageSet:
        """Start a task in the method and the regularizers; returns the training set of its epochs."""
        with self.work.unit("train", changes=True):
            if self.optimizer is None or self.milestones or self.method.new_optimizer_each_task:
                self.optimizer = self.make_optimizer()
            self.scheduler = self.make_scheduler(self.optimizer)
            self.method.start_task(task)
            for regularizer in self._active_regularizers:
                regularizer.start_task(task, self.net)
        data = self.method.training_set(task)
        position = self.position
        position.images, position.checksum = len(data), data.checksum()
        position.steps_per_epoch = -(-len(data) // self.batch_size)
        position.stage = "training"
        self.stopwatch.add("train")
        self._notify_started(task)
        return data

    def _resumed_data(self, task: Task) -> ImageSet:
        """Create the training set of a started task again; raises `ParameterError` if its images differ."""
        data = self.method.training_set(task)
        if data.checksum() != self.position.checksum:
            raise ParameterError("stream", "the one the run began with", f"different images in task {task.index + 1}")
        return data

    def _step(self, task: Task, data: ImageSet) -> None:
        """Do one update; the first step of an epoch draws its order, the last one advances the scheduler."""
        position, size = self.position, self.batch_size
        epoch, place = divmod(position.step, position.steps_per_epoch)
        if place == 0:
            position.order = torch.randperm(len(data), generator=self.generators["order"])
        assert position.order is not None
        assert self.optimizer is not None
        part = data[position.order[place * size :][:size].to(self.device)]
        batch = Batch(part.images, part.labels, self.method.view(part.images, self.generators["augment"]))
        progress = Progress(epoch, self.epochs, position.step)
        terms = self.method.observe(batch, task, progress, self.optimizer, self._active_regularizers)
        if self.scheduler is not None and place == position.steps_per_epoch - 1:
            self.scheduler.step()
        self.steps += 1
        position.step += 1
        self.stopwatch.add("train")
        self.notify(events.StepDone(position.phase, task.index, epoch, progress.step, terms))

    def _end(self, task: Task) -> None:
        """End a task in the method and the regularizers."""
        assert self.optimizer is not None
        check_weights(self.net, f"at the end of task {task.index + 1}", self.optimizer)
        with self.work.unit("train", changes=True):
            self.method.end_task(task)
            for regularizer in self._active_regularizers:
                regularizer.end_task(task, self.net)
        self.position.stage, self.position.order = "testing", None
        self.stopwatch.add("train")
        self.notify(events.TaskTrained(self.position.phase, task.index))

    @property
    def _active_regularizers(self) -> list[Regularizer]:
        return [regularizer for regularizer in self.regularizers if regularizer.weight != 0]

    def _measure(self, tests: Callable[[int], Iterator[int]]) -> None:
        """Do the remaining tests of a measurement; see `Evaluator`."""
        for total in tests(self.position.tested):
            self.position.tested += 1
            self.stopwatch.add("evaluate")
            self.notify(events.SetTested(self.position.tested, total))
        self.stopwatch.add("evaluate")

    def _move_before(self, phase: int) -> None:
        """Move to the position before a phase and reset the time of the task."""
        self.position = Position.before(phase)
        self.stopwatch.start_task()

    def _finish(self, phase: Phase) -> None:
        """Move to the position before the next phase, and report the results of this one."""
        number, seconds, evaluator = self.position.phase, self.stopwatch.task, self.evaluator
        second = evaluator.recalibrated_record
        self._move_before(number + 1)
        self.notify(
            events.TaskDone(
                number,
                phase.row,
                accuracies=evaluator.record.row(phase.row),
                average=evaluator.record.average(phase.row),
                recalibrated=second.average(phase.row) if second is not None and len(self.memory) else None,
                memory=len(self.memory),
                train_seconds=seconds["train"],
                evaluate_seconds=seconds["evaluate"],
                diagnostics=self.method.diagnostics(),
            )
        )

    def _notify_started(self, task: Task, *, resumed: bool = False) -> None:
        at = self.position
        sizes = {"images": at.images, "epochs": self.epochs, "steps_per_epoch": at.steps_per_epoch}
        self.notify(
            events.TaskStarted(
                at.phase, len(self.phases), task.index, task.num_tasks, **sizes, step=at.step, resumed=resumed
            )
        )

    def _notify_computed(self, kind: str, done: int) -> None:
        self.stopwatch.add(kind)
        self.notify(events.PieceDone(done))

    def state_dict(self) -> dict[str, Any]:
        """Return the complete state of the run: nested dictionaries of tensors and plain values."""
        return self.work.complete(self._state())

    def _state(self) -> dict[str, Any]:
        """Collect the current state of all parts."""
        return {
            "position": self.position.state_dict(),
            "data": list(self.checksums),
            "steps": self.steps,
            "seconds": self.stopwatch.state_dict(),
            "net": self.net.state_dict(),
            "optimizer": None if self.optimizer is None else self.optimizer.state_dict(),
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
            "memory": self.memory.state_dict(),
            "method": self.method.state_dict(),
            "regularizers": [regularizer.state_dict() for regularizer in self.regularizers],
            "generators": randomness.generator_states(self.generators),
            "global_generators": randomness.global_state(),
            **self.evaluator.state_dict(),
            "pieces": [],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state of a trainer built in the same way; raises `ParameterError` if the images differ."""
        if state["data"] and state["data"] != self.stream.checksums():
            found = "images" if self.stream.views is None else "features"
            raise ParameterError("stream", "the one the run began with", f"other {found}")
        self.position = Position(**state["position"])
        self.resumed, self.checksums, self.steps = True, list(state["data"]), state["steps"]
        self.stopwatch.load_state_dict(state["seconds"])
        self.net.load_state_dict(state["net"])
        self.optimizer, self.scheduler = None, None
        if state["optimizer"] is not None:
            self.optimizer = self.make_optimizer()
            self.scheduler = self.make_scheduler(self.optimizer)
            if self.scheduler is not None:
                self.scheduler.load_state_dict(state["scheduler"])
            self.optimizer.load_state_dict(state["optimizer"])  # last: creating a scheduler may change the rate
        self.memory.load_state_dict(state["memory"])
        self.method.load_state_dict(state["method"])
        for regularizer, part in zip(self.regularizers, state["regularizers"], strict=True):
            regularizer.load_state_dict(part)
        randomness.set_generator_states(self.generators, state["generators"])
        self.global_state = state["global_generators"]
        self.evaluator.load_state_dict(state)
        self.work.load(state["pieces"], self.device)
