"""Work that takes long, cut into pieces, so that a stop in its midst loses one piece at most."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from torch import Tensor

from casper.errors import ParameterError
from casper.randomness import generator_states, global_state, set_generator_states, set_global_state
from casper.training.events import PieceDone
from casper.training.run_state import run_state

if TYPE_CHECKING:
    from casper.training.trainer import Trainer


class Pieces:
    """The results so far of the unit of work under way.

    A unit is what a run does between two of its places, from nothing but its state at the unit's start: start a task,
    close one, test a set. Its long computations go through `compute`, one by one. A state in its midst is that of its
    start and the results so far; loaded, the unit is begun anew, and is given those results back instead of computing
    them, with the random generators as they were left by each.
    """

    def __init__(self, trainer: "Trainer") -> None:
        self._trainer = trainer
        self._done: list[tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]] = []
        self._given = 0
        self._start: dict[str, Any] | None = None
        self._kind, self._keeping = "", False

    @property
    def under_way(self) -> bool:
        """Whether a unit has been begun and not been ended."""
        return bool(self._kind)

    @contextmanager
    def unit(self, kind: str, *, changes: bool) -> Iterator[None]:
        """Hold a unit together; one that fails stays under way, to be begun anew from its state, and keeps no more.

        Args:
            kind: What the time of its pieces is put down to.
            changes: Whether it changes the run's state beside the random generators.
        """
        self._kind, self._given = kind, 0
        self._start = deepcopy(run_state(self._trainer)) if changes else None
        self._keeping = True
        try:
            yield
        finally:
            self._keeping = False
        if self._given < len(self._done):
            raise ParameterError("state", "one of this very work", f"{len(self._done)} pieces of another")
        self._kind, self._start = "", None
        self._done.clear()

    def compute(self, function: Callable[[], Tensor]) -> Tensor:
        """Return what the function returns, from a state if it holds it; else, or inside a piece, call it."""
        if not self._keeping:
            return function()
        trainer, number = self._trainer, self._given
        self._given += 1
        if number < len(self._done):
            result, generators, of_all = self._done[number]
            set_generator_states(trainer.generators, generators)
            set_global_state(of_all)
            return result
        self._keeping = False  # what is computed within it, and by those who are told, is no piece of the unit
        result = function()
        self._done.append((result, generator_states(trainer.generators), global_state()))
        trainer.book(self._kind)
        trainer.tell(PieceDone(len(self._done)))
        self._keeping = True
        return result

    def complete(self, state: dict[str, Any]) -> dict[str, Any]:
        """Make the run's present state one to begin the unit anew from."""
        return {**state, **(self._start or {}), "seconds": state["seconds"], "pieces": list(self._done)}

    def load(self, done: Sequence[tuple[Tensor, Mapping[str, Tensor], Mapping[str, Tensor]]]) -> None:
        """Take the results of a state; the unit they belong to is begun next."""
        self._kind, self._start = "", None
        device = self._trainer.device
        self._done = [(result.to(device), dict(each), dict(of_all)) for result, each, of_all in done]
