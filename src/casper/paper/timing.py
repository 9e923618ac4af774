"""Measure the cost of a training step: seconds and forward passes of steps in the second task."""

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

# Steps before the measured ones, in which caches, allocators and, on a GPU, the choice of algorithms settle.
_WARM_UP = 3
_Reading = TypeVar("_Reading")
# Called with the number of parts of the work that are done, the number of all parts, and the run of the last one.
StepTimesProgress = Callable[[int, int, RunConfig], None]


@dataclass(frozen=True)
class StepTimes:
    """The duration of some training steps of a run, measured several times.

    Attributes:
        config: The configuration of the run.
        steps: The number of steps in a repeat.
        seconds: The training time of these steps in each repeat.
        passes: The number of passes per step, through the network or a teacher; batches passed jointly are one.
        passes_with_gradient: The number of those per step that a backward pass can follow.

    Example:
        >>> from casper.config import resolve_config
        >>> from casper.paper import StepTimes
        >>> times = StepTimes(resolve_config({"method": "er"}), 10, (3.0, 4.0), 2.0, 1.0)
        >>> min(times.seconds) / times.steps
        0.3
    """

    config: RunConfig
    steps: int
    seconds: tuple[float, ...]
    passes: float
    passes_with_gradient: float


class Ratio(NamedTuple):
    """The ratio of the durations of two runs' steps: the median over repeats, and its range.

    Example:
        >>> from casper.paper import Ratio
        >>> Ratio(1.75, 1.5, 2.0).median
        1.75
    """

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

    Example:
        >>> from casper.config import resolve_config
        >>> from casper.paper import StepTimes, ratio
        >>> config = resolve_config({})
        >>> with_, without = StepTimes(config, 10, (3.0, 4.0), 3.0, 2.0), StepTimes(config, 10, (2.0, 2.0), 2.0, 1.0)
        >>> ratio(with_, without)
        Ratio(median=1.75, least=1.5, largest=2.0)
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

    The measured steps are those of the second task, with a full memory (see `SecondTask`), after a short warm-up. Every
    repeat measures all runs, in the given order, before the next repeat starts: other load on the machine then affects
    adjacent runs alike. All repeats of a run do the same work from the same state. Passes are counted in an additional
    repeat, before the others and without a clock. All runs are in memory at the same time.

    Evaluation and work at the start and end of a task (herding, proxies) are not measured: they are the same with and
    without a regularizer, and depend on the size of a task, of which only some images are used here.

    Args:
        configs: The runs; their epochs and schedules are ignored.
        steps: The number of steps in a repeat.
        repeats: The number of measurements of every run. Default: 3, the smallest number with a true median.
        device: The device to train on. A GPU is synchronized before each reading of the clock.
        threads: The number of threads of PyTorch. Default: its present setting.
        data_dir: The directory to search for data sets first.
        progress: Called after the preparation, the count and each repeat of every run.

    Raises:
        ConfigError: If a run cannot be built.
        DataError: If its images are not available.
        ParameterError: If a value is too small, or a run has no second task.

    Example:
        >>> from casper.config import resolve_config
        >>> from casper.paper import step_times
        >>> config = resolve_config({"method": "er", "regularizer": ["none"], "buffer_size": 20})
        >>> (times,) = step_times([config], steps=2, repeats=1)
        >>> times.steps, len(times.seconds), times.seconds[0] > 0
        (2, 1, True)
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
        StepTimes(config, steps, tuple(times), counts["all"] / steps, counts["with gradient"] / steps)
        for config, times, counts in zip(configs, seconds, passes, strict=True)
    ]


class SecondTask:
    """A run at the start of its second task, whose first steps can be repeated.

    At this point the memory is full and the teacher exists, if the method has one, so that a step costs as much as in
    all later tasks. The first task is one epoch over some of its images: at least twice the memory size, so that every
    class fills its share. Each test set has one image.

    Every repeat does bit-identical work: it starts from the same state, including the random generators.
    """

    def __init__(self, config: RunConfig, *, steps: int, device: str = "cpu", data_dir: str | None = None) -> None:
        """Train on the first task, and start the second; for the arguments and errors see `step_times`."""
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
        """Repeat the steps from the start of the task; returns the values of `read` just before and just after them."""
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
        """Take readings after the warm-up and the last step; stop after it, and at the start of the second task."""
        if isinstance(event, TaskStarted) and event.phase == 1 and not event.resumed:
            raise _StopHereError
        if isinstance(event, StepDone) and event.phase == 1 and event.step + 1 in (_WARM_UP, self._last):
            self._read()
            if event.step + 1 == self._last:
                raise _StopHereError


class _StopHereError(Exception):
    """Stops the training loop at a point where its state is complete."""


@contextmanager
def counted_passes() -> Iterator[Counter[str]]:
    """Count the forward passes of all networks in the block: `all`, and those `with gradient` for a backward pass."""
    counts: Counter[str] = Counter()

    def see(module: nn.Module, arguments: Any, outputs: Any) -> None:
        if isinstance(module, FeatureClassifier):  # a whole network: the one that learns, or a teacher
            counts["all"] += 1
            counts["with gradient"] += outputs.logits.requires_grad

    hook = register_module_forward_hook(see)
    try:
        yield counts
    finally:
        hook.remove()


def _passes(run: SecondTask) -> Counter[str]:
    with counted_passes() as counts:
        before, after = run.repeat(counts.copy)
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
    """Set the number of threads, and restore it and the global random generators afterwards."""
    threads_before, random_before = torch.get_num_threads(), global_state()
    torch.set_num_threads(threads or threads_before)
    try:
        yield
    finally:
        torch.set_num_threads(threads_before)
        set_global_state(random_before)
