"""What a step costs: the time of some steps of each of several runs, measured in turn, and their forward passes."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

import torch

from casper.config import RunConfig
from casper.errors import require
from casper.randomness import global_state, set_global_state
from casper.sweeps.forward_passes import ForwardPasses, counted_passes
from casper.sweeps.second_task import SecondTask

# Handed how many of how many stretches of work are done, and whose the last one was.
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


@dataclass(frozen=True)
class Ratio:
    """How many times as long one run's steps take as another's: the median over repeats, and between what it lies."""

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
    progress: StepTimesProgress | None = None,
) -> list[StepTimes]:
    """Measure the training steps of several runs, in turn.

    Steps are those of the second task, with a full memory (see `SecondTask`); some go before them that do not count.
    Every repeat goes through all runs, in the order given, before the next one begins: a moment in which the machine is
    busy with something else hits neighbours alike. All repeats of a run are the same work from the same state. Passes
    are counted in one more repeat, before the others and without a clock. All runs are in memory at the same time.

    The time is that of steps alone. Evaluation is not made, and work at a task's start and end (herding, proxies) is
    left out: it is there with or without a regularizer, and depends on the size of a task, of which only some images
    are used here.

    Args:
        configs: The runs; their epochs and schedules do not count.
        steps: The number of steps in a repeat.
        repeats: How often every run is measured. Default 3: the fewest that have a median between two others.
        device: Where to train. A GPU is waited for before each reading of the clock.
        threads: How many PyTorch uses; None: as many as it is set to.
        data_dir: Where data sets are looked for first.
        progress: Is told as the preparation, the count and each repeat of every run is done.

    Raises:
        ConfigError: If a run cannot be built.
        DataError: If its images cannot be had.
        ParameterError: If a value is too small, or a run has no second task to learn.
    """
    require(steps >= 1, "steps", "at least 1", steps)
    require(repeats >= 1, "repeats", "at least 1", repeats)
    require(threads is None or threads >= 1, "threads", "at least 1", threads)
    done, total = 0, len(configs) * (repeats + 2)

    def tell(config: RunConfig) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total, config)

    runs: list[SecondTask] = []
    passes: list[ForwardPasses] = []
    seconds: list[list[float]] = [[] for _ in configs]
    with _as_found(threads):
        for config in configs:
            runs.append(SecondTask(config, steps=steps, device=device, data_dir=data_dir))
            tell(config)
        for config, run in zip(configs, runs, strict=True):
            passes.append(_passes(run))
            tell(config)
        for _ in range(repeats):
            for config, run, times in zip(configs, runs, seconds, strict=True):
                times.append(_seconds(run, device))
                tell(config)
    return [
        StepTimes(config, steps, tuple(times), made.all / steps, made.with_gradient / steps)
        for config, times, made in zip(configs, seconds, passes, strict=True)
    ]


def _passes(run: SecondTask) -> ForwardPasses:
    with counted_passes() as counter:
        before, after = run.repeat(lambda: counter.made)
    return after - before


def _seconds(run: SecondTask, device: str) -> float:
    def now() -> float:
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)
        return time.perf_counter()

    before, after = run.repeat(now)
    return after - before


@contextmanager
def _as_found(threads: int | None) -> Iterator[None]:
    """Use so many threads, and leave their number and the global random generators as they were."""
    threads_before, random_before = torch.get_num_threads(), global_state()
    torch.set_num_threads(threads or threads_before)
    try:
        yield
    finally:
        torch.set_num_threads(threads_before)
        set_global_state(random_before)
