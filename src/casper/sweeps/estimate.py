"""How long will it take? From runs that are done, or from a short trial."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import mean, median

import torch

from casper.config import RunConfig
from casper.runs import build_trainer
from casper.runs.results import look_up
from casper.streams import TaskStream
from casper.streams.subsets import shortened
from casper.sweeps.sweep import SweepRun
from casper.training import Event, SetTested, StepDone, TaskStarted

_TRIAL_STEPS, _TRIAL_TESTS = 4, 256
_PATIENCE = 60.0  # seconds for all trials; what is left takes the mean of what is known
# What sets two runs apart and hardly changes how long they take.
_WITHOUT_EFFECT = ("seed", "lr", "milestones", "gamma", "class_order")


@dataclass(frozen=True)
class Estimate:
    """How long the runs that are not done take.

    Attributes:
        seconds: Of all, with so many at a time; None: nothing is known.
        source: What that was taken from, for the user.
    """

    seconds: float | None
    source: str


def estimate(
    runs: Sequence[SweepRun],
    slots: int,
    trial: Callable[[RunConfig], float],
    *,
    startup: float = 0.0,
    patience: float = _PATIENCE,
) -> Estimate:
    """Estimate how long a sweep takes.

    Args:
        runs: Its runs; those that are done say how long runs like them take.
        slots: How many are made at a time.
        trial: Estimates the seconds of one run.
        startup: The seconds that a run's process takes until it begins.
        patience: Seconds after which no further trial is begun.
    """
    known: dict[str, list[float]] = {}
    for run in runs:
        took = look_up(run.metrics or {}, "seconds.total")
        if took is not None:
            known.setdefault(_kind(run.config), []).append(took)
    left = [run.config for run in runs if run.state in ("missing", "unfinished")]
    finished = sum(_kind(config) in known for config in left)
    tried, begun, failing = 0, time.monotonic(), dict[str, str]()
    for config in left:
        if _kind(config) not in {*known, *failing} and time.monotonic() - begun < patience:
            try:
                known[_kind(config)] = [trial(config)]
                tried += 1
            except Exception as error:  # whatever is wrong with it, the run itself will say and record
                failing[_kind(config)] = " ".join(str(error).split())
    if not known:
        reason = next(iter(failing.values()), "none was made")
        return Estimate(None, f"nothing like them has been run, and a short trial fails: {reason}")
    usual = mean(seconds for several in known.values() for seconds in several)
    promising = [config for config in left if _kind(config) not in failing]
    total = sum(startup + mean(known.get(_kind(config), [usual])) for config in promising)
    sources = [f"{finished} by finished runs like them"] * (finished > 0) + [f"{tried} by a short trial each"] * (
        tried > 0
    )
    others = len(promising) - sum(_kind(config) in known for config in promising)
    sources += [f"{others} by the mean of the others"] * (others > 0)
    sources += [f"without {len(left) - len(promising)} whose trial fails"] * (len(promising) < len(left))
    return Estimate(total / min(slots, max(1, len(left))), ", ".join(sources))


def _kind(config: RunConfig) -> str:
    """Tell runs apart that take different times; hyper-parameters, but the backbone's, do not."""
    options = config.options.model_dump(exclude=set(_WITHOUT_EFFECT))
    return repr((sorted(options.items()), sorted(config.hyper.get("backbone", {}).items())))


@dataclass
class _Clock:
    """Listens to a trial: when each step of its last task and each test ended."""

    steps: list[float] = field(default_factory=list)
    tests: list[float] = field(default_factory=list)

    def listen(self, event: Event) -> None:
        now = time.perf_counter()
        if isinstance(event, TaskStarted):
            self.steps = [now]
        elif isinstance(event, StepDone):
            self.steps.append(now)
        elif isinstance(event, SetTested):
            self.tests.append(now)


def trial_seconds(config: RunConfig, *, device: str, threads: int, data_dir: str | None) -> float:
    """Run a few steps of two tasks, and count how many of them, and of the test images, the whole run has.

    Raises:
        ConfigError: If the run cannot be built.
        DataError: If its images cannot be had.
    """
    sizes: dict[str, int] = {}
    clock = _Clock()
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        once = replace(config, options=config.options.model_copy(update={"epochs": 1, "milestones": []}))
        shown = partial(_few, batch_size=config.options.batch_size, sizes=sizes)
        trainer = build_trainer(once, device=device, data_dir=data_dir, listeners=[clock.listen], shown=shown)
        trainer.run()
    finally:
        torch.set_num_threads(before)
    step = median(late - early for early, late in zip(clock.steps, clock.steps[1:], strict=False))
    test = median(late - early for early, late in zip(clock.tests, clock.tests[1:], strict=False))
    test /= min(_TRIAL_TESTS, sizes["test"])
    tasks = sizes["tasks"]
    steps = tasks * config.options.epochs * -(-sizes["train"] // config.options.batch_size)
    sets = 2 * tasks + (1 + config.options.recalibrate) * tasks * (tasks + 3) // 2
    return steps * step + sets * sizes["test"] * test


def _few(stream: TaskStream, batch_size: int, sizes: dict[str, int]) -> TaskStream:
    """Keep some images of the first two tasks, and take down how many there are of everything."""
    first = stream[0]
    sizes.update(tasks=len(stream), train=len(first.train), test=len(first.test))
    return shortened(stream, train=_TRIAL_STEPS * batch_size, test=_TRIAL_TESTS)[:2]
