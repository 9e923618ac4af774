"""Long work in parts, so that a stop loses one part at most."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import torch
from torch import Generator, Tensor

from casper.errors import ParameterError
from casper.randomness import generator_states, global_state, set_generator_states, set_global_state

# The result of one computation, and the random generators as it left them: the run's own, and the global ones.
CachedResult = tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]


class ResumableWork:
    """The results so far of the unit of work that a run is in.

    A unit is what a run does between two positions, from nothing but its state at the unit's start: start a task,
    end one, test a set. Its long computations go through `compute`, one by one. A checkpoint in the middle of a unit
    holds the state of the unit's start and the results so far. When it is loaded, the unit starts again and receives
    these results instead of computing them, with the random generators as each computation left them.
    """

    def __init__(
        self,
        generators: Mapping[str, Generator],
        state: Callable[[], dict[str, Any]],
        computed: Callable[[str, int], None],
    ) -> None:
        """Start outside any unit.

        Args:
            generators: The run's random generators.
            state: Returns the run's state.
            computed: Called after every computation, with the unit's kind and the number of results so far.
        """
        self._generators, self._state, self._computed = generators, state, computed
        self._results: list[CachedResult] = []
        self._requested = 0
        self._start: dict[str, Any] | None = None
        self._kind, self._caching = "", False

    @property
    def under_way(self) -> bool:
        """Whether a unit has started and not ended."""
        return bool(self._kind)

    @contextmanager
    def unit(self, kind: str, *, changes: bool) -> Iterator[None]:
        """Run a resumable unit of work. If it raises, it is replayed from its saved start.

        Args:
            kind: What its time counts as, "train" or "evaluate".
            changes: Whether it changes the run's state besides the random generators.
        """
        self._kind, self._requested = kind, 0
        self._start = deepcopy(self._state()) if changes else None
        self._caching = True
        try:
            yield
        finally:
            self._caching = False
        if unused := len(self._results) - self._requested:
            raise ParameterError(
                "state", "a checkpoint of this run", f"{unused} cached results that were never requested"
            )
        self._kind, self._start = "", None
        self._results.clear()

    def compute(self, function: Callable[[], Tensor]) -> Tensor:
        """Return the function's result, from the checkpoint if it is there; nested calls are not cached."""
        if not self._caching:
            return function()
        number = self._requested
        self._requested += 1
        if number < len(self._results):
            result, generators, of_all = self._results[number]
            set_generator_states(self._generators, generators)
            set_global_state(of_all)
            return result
        self._caching = False  # neither for what is computed inside, nor for what listeners compute
        result = function()
        self._results.append((result, generator_states(self._generators), global_state()))
        self._computed(self._kind, len(self._results))
        self._caching = True
        return result

    def complete(self, state: dict[str, Any]) -> dict[str, Any]:
        """Turn the run's present state into one that the unit can start again from."""
        return {**state, **(self._start or {}), "seconds": state["seconds"], "pieces": list(self._results)}

    def load(self, results: Sequence[CachedResult], device: str | torch.device) -> None:
        """Take over the results of a checkpoint; the unit that they belong to starts next."""
        self._kind, self._start = "", None
        self._results = [(result.to(device), dict(each), dict(of_all)) for result, each, of_all in results]
