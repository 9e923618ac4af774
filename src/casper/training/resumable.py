"""Split long work into parts, so that an interruption loses at most one part."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import torch
from torch import Generator, Tensor

from casper.errors import ParameterError
from casper.randomness import generator_states, global_state, set_generator_states, set_global_state

# The result of one computation, and the states of the random generators after it: the run's and the global ones.
CachedResult = tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]


class ResumableWork:
    """Caches the results of the current unit of work of a run.

    A unit is the work between two positions of a run: the start or the end of a task, or the test of a set. It depends
    only on the state at its start. Its long computations go through `compute`, one by one. A checkpoint within a unit
    holds the state at the start of the unit and the results so far. After loading it, the unit starts again and
    receives these results instead of computing them, with the random generators in the state after each computation.
    """

    def __init__(
        self,
        generators: Mapping[str, Generator],
        state: Callable[[], dict[str, Any]],
        computed: Callable[[str, int], None],
    ) -> None:
        """Create it outside any unit.

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
        """Whether a unit is in progress."""
        return bool(self._kind)

    @contextmanager
    def unit(self, kind: str, *, changes: bool) -> Iterator[None]:
        """Run a resumable unit of work. If it raises, it is replayed from its saved start.

        Args:
            kind: How its time is counted, "train" or "evaluate".
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
        """Return the result of the function, or the one in the checkpoint; nested calls are not cached."""
        if not self._caching:
            return function()
        number = self._requested
        self._requested += 1
        if number < len(self._results):
            result, generators, of_all = self._results[number]
            set_generator_states(self._generators, generators)
            set_global_state(of_all)
            return result
        self._caching = False  # nested calls and calls by listeners are not cached
        result = function()
        self._results.append((result, generator_states(self._generators), global_state()))
        self._computed(self._kind, len(self._results))
        self._caching = True
        return result

    def complete(self, state: dict[str, Any]) -> dict[str, Any]:
        """Turn the current state of the run into one from which the unit can start again."""
        return {**state, **(self._start or {}), "seconds": state["seconds"], "pieces": list(self._results)}

    def load(self, results: Sequence[CachedResult], device: str | torch.device) -> None:
        """Load the results of a checkpoint; the unit that they belong to starts next."""
        self._kind, self._start = "", None
        self._results = [(result.to(device), dict(each), dict(of_all)) for result, each, of_all in results]
