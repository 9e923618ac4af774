"""What a regularizer is: a loss term that any method can take on."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Generator, Tensor

from casper._repr import ShowsSettings
from casper.nets import FeatureClassifier
from casper.randomness import OwnRandomness
from casper.step import Step
from casper.types import Outputs, Scenario, Task


class Regularizer(ShowsSettings, ABC):
    """A term added to a method's loss. It knows no method by name, and no method knows it.

    A subclass gives its hyper-parameters to its constructor and implements `loss`. Whatever it draws, it draws from the
    generator it is handed; whatever it needs a forward pass of, beside the method's own passes, it passes itself.
    Weight 0 is the same as absent, bit for bit: `term` then does nothing at all.

    Attributes:
        name: Names the term in logs.
        generator_name: Names its randomness. Two regularizers with the same one draw the same items.
        scenarios: The kinds of stream it can be used with.
        needs_memory: Whether it makes sense only with a method that keeps a memory.
        needs_past: Whether it makes sense only with a method that learns task by task.
        weight: What the loss is multiplied by.
    """

    name: ClassVar[str]
    generator_name: ClassVar[str]
    scenarios: ClassVar[frozenset[Scenario]] = frozenset({"class", "domain"})
    needs_memory: ClassVar[bool] = True
    needs_past: ClassVar[bool] = False
    weight: float

    def check(self, *, batch_size: int) -> None:
        """Raise `ValueError` for hyper-parameters that can never work at this batch size."""

    def seed(self, seed: int) -> None:
        """Start this regularizer's own randomness; called once, before the first task."""
        self._randomness = OwnRandomness(seed, self.generator_name)

    def term(self, step: Step, passes: Mapping[str, Outputs]) -> Tensor | None:
        """Compute weight * loss under the regularizer's own randomness; None: no term in this step."""
        if self.weight == 0:
            return None
        with self._randomness.acting() as generator:
            loss = self.loss(step, passes, generator)
        return None if loss is None else self.weight * loss

    @abstractmethod
    def loss(self, step: Step, passes: Mapping[str, Outputs], generator: Generator) -> Tensor | None:
        """Compute the unweighted loss.

        Args:
            step: All there is to look at.
            passes: The forward passes the method made in this step, by name.
            generator: The only source of randomness.

        Returns:
            Scalar tensor with a gradient to the network, or None: no term in this step. Never raises in training.
        """

    def start_task(self, task: Task, net: FeatureClassifier) -> None:
        """Prepare for a task; not called at weight 0."""

    def end_task(self, task: Task, net: FeatureClassifier) -> None:
        """Close a task, after its last step; not called at weight 0."""

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes during training."""
        return {"randomness": self._randomness.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self._randomness.load_state_dict(state["randomness"])
