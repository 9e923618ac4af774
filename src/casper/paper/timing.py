"""What a training step costs: seconds and forward passes of steps in the second task, several runs in turn."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from statistics import median
from typing import Any, NamedTuple, TypeVar

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

from casper.config import RunConfig
from casper.errors import ParameterError, require
from casper.nets import FeatureClassifier
from casper.randomness import global_state, set_global_state
from casper.runs import build_trainer
from casper.streams.subsets import shortened
from casper.training import Event, StepDone, TaskStarted, Trainer

# Steps before those that are measured: caches, allocators and, on a GPU, the choice of algorithms settle in them.
_WARM_UP = 3
_Reading = TypeVar("_Reading")
# Called with how many of how many parts of the work are done, and the run of the last one.
StepTimesProgress = Callable[[int, int, RunConfig], None]


@dataclass(frozen=True)
class StepTimes:
    """How long some training steps of a run took, several times over.

    Attributes:
        config: The run.
        steps: The number of steps in a repeat.
        seconds: The training time of these steps in each repeat.
        passes: The number of passes per step, through the network or a teacher; batches passed jointly are one.
        passes_with_gradient: The number of those per step that a backward pass can follow.
    """

    config: RunConfig
    steps: int
    seconds: tuple[float, ...]
    passes: float
    passes_with_gradient: float


class Ratio(NamedTuple):
    """How many times as long one run's steps take as another's: the median over repeats, and its range."""

    median: float
    least: float
    largest: float


def ratio(with_: StepTimes, without: StepTimes) -> Ratio:
    """Compare two runs measured together: the ratios s_r / s'_r of their times in the same repeats r.

    Args:
        with_: The times s of the run with something, such as a regularizer.
        without: The times s' of the run without it.

    Raises:
        ParameterError: If they were not measured with the same number of steps and repeats.
    """
    measured = [(each.steps, len(each.seconds)) for each in (with_, without)]
    require(measured[0] == measured[1], "without", "measured with as many steps and repeats", measured)
    ratios = [one / other for one, other in zip(with_.seconds, without.seconds, strict=True)]
    return Ratio(median(ratios), min(ratios), max(ratios))


def step_times(
    configs: Sequence[RunConfig],
    *,
    steps: int,
    repeats: int = 3,
    device: str = "cpu",
    threads: int | None = None,
    data_dir: str | None = None,
    progress: StepTimesProgress = lambda done, total, config: None,
) -> list[StepTimes]:
    """Measure the training steps of several runs, in turn.

    Steps are those of the second task, with a full memory (see `SecondTask`), after a short warm-up. Every repeat goes
    through all runs, in the order given, before the next one begins: a moment in which the machine is busy with
    something else affects neighbours alike. All repeats of a run are the same work from the same state. Passes are
    counted in one more repeat, before the others and without a clock. All runs are in memory at the same time.

    Evaluation and work at a task's start and end (herding, proxies) are not measured: they are the same with or without
    a regularizer, and depend on the size of a task, of which only some images are used here.

    Args:
        configs: The runs; their epochs and schedules do not count.
        steps: The number of steps in a repeat.
        repeats: How often every run is measured. Default 3: the fewest that have a median between two others.
        device: Where to train. A GPU is synchronized before each reading of the clock.
        threads: How many PyTorch uses; None: as many as it is set to.
        data_dir: Where data sets are looked for first.
        progress: Called after the preparation, the count and each repeat of every run.

    Raises:
        ConfigError: If a run cannot be built.
        DataError: If its images are not available.
        ParameterError: If a value is too small, or a run has no second task.
    """
    require(steps >= 1, "steps", "at least 1", steps)
    require(repeats >= 1, "repeats", "at least 1", repeats)
    require(threads is None or threads >= 1, "threads", "at least 1", threads)
    done, total = count(1), len(configs) * (repeats + 2)
    runs: list[SecondTask] = []
    passes: list[Counter[str]] = []
    seconds: list[list[float]] = [[] for _ in configs]
    with _global_settings_restored(threads):
        for config in configs:
            runs.append(SecondTask(config, steps=steps, device=device, data_dir=data_dir))
            progress(next(done), total, config)
        for config, run in zip(configs, runs, strict=True):
            passes.append(_passes(run))
            progress(next(done), total, config)
        for _ in range(repeats):
            for config, run, times in zip(configs, runs, seconds, strict=True):
                times.append(_seconds(run, device))
                progress(next(done), total, config)
    return [
        StepTimes(config, steps, tuple(times), made["all"] / steps, made["with gradient"] / steps)
        for config, times, made in zip(configs, seconds, passes, strict=True)
    ]


class SecondTask:
    """A run at the start of its second task, whose first steps can be made again and again.

    There the memory is full and the teacher exists, if the method has one: a step costs what it costs in all later
    tasks. The first task is one epoch over some of its images: twice as many as the memory has rows, so that no class
    is short of its share. It is tested on one image of each set.

    Every repeat is the same work, bit for bit: it starts from one state, with the random generators as they were.
    """

    def __init__(self, config: RunConfig, *, steps: int, device: str = "cpu", data_dir: str | None = None) -> None:
        """Learn the first task, and start the second; for the arguments and errors see `step_times`."""
        self._last = _WARM_UP + steps
        self._read: Callable[[], Any] = lambda: None
        images = max(2 * config.options.buffer_size, self._last * config.options.batch_size)

        def build(epochs: int) -> Trainer:
            changes = {"epochs": epochs, "milestones": [], "recalibrate": False}
            return build_trainer(
                replace(config, options=config.options.model_copy(update=changes)),
                device=device,
                data_dir=data_dir,
                listeners=[self._listen],
                shown=partial(shortened, train=images, test=1),
            )

        first = build(epochs=1)
        if len(first.phases) < 2:
            raise ParameterError("configs", "runs that learn a second task", f"one phase of training: {config.name}")
        first.run_phase()
        self.trainer = build(epochs=self._last)  # every epoch has at least one step
        self.trainer.load_state_dict(first.state_dict())
        self._train_until_stopped()
        self._start = deepcopy(self.trainer.state_dict())

    def repeat(self, read: Callable[[], _Reading]) -> tuple[_Reading, _Reading]:
        """Make the steps from the start of the task; returns what `read` gave just before them and just after."""
        readings: list[_Reading] = []
        self._read = lambda: readings.append(read())
        self.trainer.load_state_dict(deepcopy(self._start))  # some parts keep a reference to what they are given
        set_global_state(self.trainer.global_state)
        self._train_until_stopped()
        before, after = readings
        return before, after

    def _train_until_stopped(self) -> None:
        with suppress(_StopHereError):
            self.trainer.run_phase()

    def _listen(self, event: Event) -> None:
        """Read after the warm-up and after the last step; stop there, and where the second task has been started."""
        if isinstance(event, TaskStarted) and event.phase == 1 and not event.resumed:
            raise _StopHereError
        if isinstance(event, StepDone) and event.phase == 1 and event.step + 1 in (_WARM_UP, self._last):
            self._read()
            if event.step + 1 == self._last:
                raise _StopHereError


class _StopHereError(Exception):
    """Raised out of the training loop, at a place where its state is complete."""


@contextmanager
def counted_passes() -> Iterator[Counter[str]]:
    """Count the forward passes of all networks in the block: `all`, and those `with gradient` for a backward pass."""
    made: Counter[str] = Counter()

    def see(module: nn.Module, arguments: Any, outputs: Any) -> None:
        if isinstance(module, FeatureClassifier):  # a whole network: the one that learns, or a teacher
            made["all"] += 1
            made["with gradient"] += outputs.logits.requires_grad

    hook = register_module_forward_hook(see)
    try:
        yield made
    finally:
        hook.remove()


def _passes(run: SecondTask) -> Counter[str]:
    with counted_passes() as made:
        before, after = run.repeat(made.copy)
    return after - before


def _seconds(run: SecondTask, device: str) -> float:
    def now() -> float:
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)
        return time.perf_counter()

    before, after = run.repeat(now)
    return after - before


@contextmanager
def _global_settings_restored(threads: int | None) -> Iterator[None]:
    """Use so many threads, and restore their number and the global random generators afterwards."""
    threads_before, random_before = torch.get_num_threads(), global_state()
    torch.set_num_threads(threads or threads_before)
    try:
        yield
    finally:
        torch.set_num_threads(threads_before)
        set_global_state(random_before)
