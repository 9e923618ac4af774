"""The first steps of a run's second task, as often as wanted."""

from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import TypeVar

from casper.config import RunConfig
from casper.errors import ParameterError
from casper.randomness import set_global_state
from casper.runs import build_trainer
from casper.streams.subsets import shortened
from casper.training import Event, StepDone, TaskStarted, Trainer

_Reading = TypeVar("_Reading")

# Steps before those that are looked at: caches, allocators and, on a GPU, the choice of algorithms settle in them.
_WARM_UP = 3


class _StopHereError(Exception):
    """Raised out of the training loop, at a place where its state is complete."""


class SecondTask:
    """A run at the start of its second task, whose first steps can be made again and again.

    There the memory is full and a teacher is there, where a method has one: a step costs what it costs in all tasks to
    come. The first task is one epoch over some of its images: twice as many as the memory has rows, so that no class
    is short of its share. It is tested on one image of each set.

    Every repeat is the same work, bit for bit: it begins at one state, with the random generators as they were.
    """

    def __init__(self, config: RunConfig, *, steps: int, device: str = "cpu", data_dir: str | None = None) -> None:
        """Learn the first task, and start the second.

        Args:
            config: The run; its epochs and its schedule do not count.
            steps: How many steps are looked at in a repeat.
            device: Where to run it.
            data_dir: Where data sets are looked for first.

        Raises:
            ConfigError: If the run cannot be built.
            DataError: If its images cannot be had.
            ParameterError: If it has no second task to learn.
        """
        options = config.options
        self._last = _WARM_UP + steps
        self._at_border: Callable[[], None] = _nothing
        images = max(2 * options.buffer_size, self._last * options.batch_size)

        def build(epochs: int) -> Trainer:
            return build_trainer(
                replace(
                    config,
                    options=options.model_copy(update={"epochs": epochs, "milestones": [], "recalibrate": False}),
                ),
                device=device,
                data_dir=data_dir,
                listeners=[self._listen],
                shown=partial(shortened, train=images, test=1),
            )

        first = build(epochs=1)
        if len(first.phases) < 2:
            raise ParameterError("configs", "runs that learn a second task", f"one phase of training: {config.name}")
        first.run_phase()
        self.trainer = build(epochs=self._last)  # no epoch has less than a step
        self.trainer.load_state_dict(first.state_dict())
        self._train_until_stopped()
        self._start = deepcopy(self.trainer.state_dict())

    def repeat(self, read: Callable[[], _Reading]) -> tuple[_Reading, _Reading]:
        """Go back to the start of the task and make its steps; returns what was read just before them and after."""
        readings: list[_Reading] = []
        self._at_border = lambda: readings.append(read())
        self.trainer.load_state_dict(deepcopy(self._start))  # some parts keep what they are handed
        set_global_state(self.trainer.global_state)
        self._train_until_stopped()
        before, after = readings
        return before, after

    def _train_until_stopped(self) -> None:
        with suppress(_StopHereError):
            self.trainer.run_phase()

    def _listen(self, event: Event) -> None:
        """Stop as the second task has been started, and after its last step; read where its warm-up ends, and there."""
        if isinstance(event, TaskStarted) and event.phase == 1 and not event.resumed:
            raise _StopHereError
        if isinstance(event, StepDone) and event.phase == 1 and event.step + 1 in (_WARM_UP, self._last):
            self._at_border()
            if event.step + 1 == self._last:
                raise _StopHereError


def _nothing() -> None:
    """Read nothing."""
