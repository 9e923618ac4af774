"""The base class of regularizers: loss terms that can be added to any method."""

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
    """A term added to a method's loss. Regularizers and methods do not depend on each other.

    A subclass takes its hyper-parameters in its constructor and implements `loss`. It draws random numbers only from
    the given generator, and runs any forward pass that the method does not provide. With weight 0 it has no effect, bit
    for bit: `term` returns immediately.

    Attributes:
        name: The name of the term in logs.
        generator_name: The name of its random generator. Two regularizers with the same name draw the same items.
        scenarios: The kinds of stream it supports.
        needs_memory: Whether it requires a method with a memory.
        needs_past: Whether it requires a method that learns task by task.
        weight: The factor of the loss.

    Example:
        >>> from casper import ERACE, MLP, Regularizer, Trainer, split_digits
        >>> class FeatureDecay(Regularizer):
        ...     name = generator_name = "feature-decay"
        ...     def __init__(self, weight):
        ...         self.weight = weight
        ...     def loss(self, step, passes, generator):
        ...         return passes["stream"].features.square().mean()
        >>> trainer = Trainer(split_digits(), ERACE(), regularizers=[FeatureDecay(0.01)], backbone=MLP, buffer_size=50)
        >>> trainer.run()["steps"]
        20
    """

    name: ClassVar[str]
    generator_name: ClassVar[str]
    scenarios: ClassVar[frozenset[Scenario]] = frozenset({"class", "domain"})
    needs_memory: ClassVar[bool] = True
    needs_past: ClassVar[bool] = False
    weight: float

    def check(self, *, batch_size: int) -> None:
        """Raise `ValueError` if the hyper-parameters are invalid for this batch size."""

    def seed(self, seed: int) -> None:
        """Seed the regularizer's random generator; called once, before the first task."""
        self._randomness = OwnRandomness(seed, self.generator_name)

    def term(self, step: Step, passes: Mapping[str, Outputs]) -> Tensor | None:
        """Compute weight * loss with the regularizer's random generator; None if there is no term in this step."""
        if self.weight == 0:
            return None
        with self._randomness.acting() as generator:
            loss = self.loss(step, passes, generator)
        return None if loss is None else self.weight * loss

    @abstractmethod
    def loss(self, step: Step, passes: Mapping[str, Outputs], generator: Generator) -> Tensor | None:
        """Compute the unweighted loss.

        Args:
            step: Batches, network, memory and task of the step.
            passes: The forward passes of the method in this step, by name.
            generator: The only source of randomness.

        Returns:
            Scalar tensor with a gradient to the network, or None if there is no term in this step. An implementation
            must not raise during training.
        """

    def start_task(self, task: Task, net: FeatureClassifier) -> None:
        """Prepare for a task; not called if the weight is 0."""

    def end_task(self, task: Task, net: FeatureClassifier) -> None:
        """Finish a task, after its last step; not called if the weight is 0."""

    def state_dict(self) -> dict[str, Any]:
        """Return everything that changes during training."""
        return {"randomness": self._randomness.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        self._randomness.load_state_dict(state["randomness"])
