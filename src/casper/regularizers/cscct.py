"""CSCCT: cross-space clustering and controlled transfer, a baseline for CaSpeR."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Generator, Tensor

from casper.errors import require, require_weights
from casper.losses import controlled_transfer, cross_space_clustering
from casper.nets import FeatureClassifier, snapshot
from casper.regularizers.base import Regularizer
from casper.regularizers.passes import extra_pass
from casper.step import Step
from casper.types import Batch, Outputs, Scenario, Task


class CSCCT(Regularizer):
    """Constrain the latent space to that of the network after the previous task.

    From the second task on, the stream and replayed items are passed together through the network once more and through
    the old network, and clustering_weight * `cross_space_clustering` + transfer_weight * `controlled_transfer` is
    added. The replayed items are those whose labels the method learns from in this step, each once; if the method draws
    no items, a uniform draw of batch size. Stream items with a hidden label are excluded; an item that the method has
    labelled is included once it is replayed. CSCCT uses the memory of the method, so that nothing else differs between
    runs with and without it. Ashok, Joseph and Balasubramanian, "Class-Incremental Learning with Cross-Space Clustering
    and Controlled Transfer" (ECCV 2022).

    Example:
        >>> from casper import CSCCT, ERACE, MLP, Trainer, split_digits
        >>> trainer = Trainer(split_digits(), ERACE(), regularizers=[CSCCT()], backbone=MLP, buffer_size=50, epochs=5)
        >>> trainer.run()["class_il"]["final_average_accuracy"] > 50
        True
    """

    name: ClassVar[str] = "cscct"
    generator_name: ClassVar[str] = "cscct"
    scenarios: ClassVar[frozenset[Scenario]] = frozenset({"class"})
    needs_memory: ClassVar[bool] = False
    needs_past: ClassVar[bool] = True

    def __init__(
        self,
        *,
        clustering_weight: float = 3.0,
        transfer_weight: float = 1.5,
        temperature: float = 2.0,
        update_statistics: bool = True,
    ) -> None:
        """Set the hyper-parameters. The paper gives none; the defaults are those of the original code.

        Args:
            clustering_weight: The weight of cross-space clustering; 0 disables it.
            transfer_weight: The weight of controlled transfer; 0 disables it. If both are 0, CSCCT has no effect.
            temperature: The temperature T of controlled transfer.
            update_statistics: Whether the extra pass updates BatchNorm's running statistics, as it does in the original
                code; see `CaSpeR`.
        """
        require_weights(clustering_weight=clustering_weight, transfer_weight=transfer_weight)
        require(0 < temperature < float("inf"), "temperature", "a positive finite number", temperature)
        self.clustering_weight, self.transfer_weight, self.temperature = clustering_weight, transfer_weight, temperature
        self.update_statistics = update_statistics
        self.weight = float(clustering_weight > 0 or transfer_weight > 0)

    def seed(self, seed: int) -> None:
        """Seed the random generator, and discard any old network."""
        super().seed(seed)
        self._old: FeatureClassifier | None = None
        self._old_weights: Mapping[str, Tensor] | None = None

    def loss(self, step: Step, passes: Mapping[str, Outputs], generator: Generator) -> Tensor | None:
        """Compute the weighted sum of both terms over the items of the step."""
        old = self._old_network(step.net)
        if old is None or not passes:
            return None
        inputs, labels = _items(step, generator)
        if not len(labels):
            return None
        features = extra_pass(step.net, inputs, update_statistics=self.update_statistics)
        with torch.no_grad():
            old_features = old(inputs).features
        total = features.new_zeros(())
        if self.clustering_weight:
            total = total + self.clustering_weight * cross_space_clustering(features, old_features, labels)
        if self.transfer_weight:
            task_of = step.task.owners(_num_columns(step.task), labels.device)[labels]
            current, previous = task_of == step.task.index, task_of < step.task.index
            transfer = controlled_transfer(features, old_features, current, previous, self.temperature)
            total = total + self.transfer_weight * transfer
        return total

    def end_task(self, task: Task, net: FeatureClassifier) -> None:
        """Save a copy of the network."""
        self._old, self._old_weights = snapshot(net), None

    def _old_network(self, net: FeatureClassifier) -> FeatureClassifier | None:
        if self._old is None and self._old_weights is not None:  # a loaded state contains weights, not a network
            self._old = snapshot(net)
            self._old.load_state_dict(self._old_weights)
        return self._old

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the random generator and the weights of the old network."""
        old = self._old_weights if self._old is None else self._old.state_dict()
        return {**super().state_dict(), "old": old}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        super().load_state_dict(state)
        self._old, self._old_weights = None, state["old"]


def _num_columns(task: Task) -> int:
    """Count the columns up to the highest class seen."""
    return 1 + max(label for classes in (*task.past, task.classes) for label in classes)


def _items(step: Step, generator: Generator) -> tuple[Tensor, Tensor]:
    """Collect the inputs and labels of the labelled stream items and of the replayed items."""
    stream, replays = step.stream, step.replays[step.first_labelled :]
    known = slice(None) if not step.hides_labels else stream.labels >= 0
    inputs, labels = [stream.inputs[known]], [stream.labels[known]]
    if not step.replays and len(step.memory):
        rows = step.memory.draw_uniform(step.batch_size, generator)
        inputs.append(step.view(step.memory.images.index_select(0, rows), generator))
        labels.append(step.memory.labels[rows])
    for number, replay in enumerate(replays):
        fresh = _not_drawn_before(replay, replays[:number])
        inputs.append(replay.inputs[fresh])
        labels.append(replay.labels[fresh])
    return torch.cat(inputs), torch.cat(labels)


def _not_drawn_before(replay: Batch, earlier: tuple[Batch, ...]) -> Tensor | slice:
    """Mark the items that are not part of an earlier draw of the step."""
    if not earlier:
        return slice(None)
    assert replay.rows is not None
    return ~torch.isin(replay.rows, torch.cat([batch.rows for batch in earlier if batch.rows is not None]))
