"""The latent graph of one replay batch of a finished run, computed from its last checkpoint."""

from dataclasses import dataclass

import torch
from torch import Tensor

from casper.analysis import label_signal_variation, latent_graph, small_graph
from casper.config import ConfigError
from casper.nets import features_of
from casper.plots.labels import VariantName
from casper.plots.latent_graphs import GraphVariant
from casper.randomness import named_generator
from casper.runs import RunDirectory
from casper.runs.build import build_trainer
from casper.training import CheckpointError

# Items and classes, as in `casper analyse`. A class then has more items than a point has neighbours in the graphs of
# `casper demo`, so that no edge between classes is forced.
_BATCH = (64, 8)
_GENERATOR = "analyse"


@dataclass(frozen=True)
class ReplayBatch:
    """The features of one replay batch of the memory, in evaluation mode, and their labels."""

    features: Tensor
    labels: Tensor

    def edges(self, num_neighbors: int) -> tuple[int, int]:
        """Count the edges between different classes in the k-NN graph, and all edges."""
        between = label_signal_variation(self.features, self.labels, num_neighbors) / 2
        return round(between), latent_graph(self.features, num_neighbors).nnz // 2

    def graph(self, name: VariantName, num_neighbors: int) -> GraphVariant:
        """Build the k-NN graph with the positions of its nodes in the plane (t-SNE), for `casper.plots`."""
        found = small_graph(self.features, self.labels, num_neighbors)
        return GraphVariant(
            name,
            tuple((x, y) for x, y in found["points"]),
            tuple(found["labels"]),
            tuple((i, j) for i, j in found["edges"]),
            tuple(found["eigenvalues"]),
            found["num_classes"],
            found["eigengap"],
        )


def read_replay_batch(directory: RunDirectory) -> ReplayBatch:
    """Rebuild the trainer of a finished run and draw a replay batch from its memory.

    The draw depends on the run's seed and memory only: runs with equal seeds and memories have the same batch.

    Raises:
        ConfigError: If the run's checkpoint is missing or damaged.
    """
    config = directory.read_config()
    trainer = build_trainer(config)
    try:
        trainer.load_state_dict(directory.load_state(directory.checkpoint, config.hash)["trainer"])
    except CheckpointError as error:
        raise ConfigError(str(error)) from error
    except OSError as error:
        raise ConfigError(f"{directory.checkpoint} cannot be read: {error.strerror}") from error
    memory = trainer.memory
    rows = memory.draw_balanced(*_BATCH, named_generator(trainer.seed, _GENERATOR))
    with torch.no_grad():
        features = features_of(trainer.net, memory.images[rows], trainer.method.transform.test)
    return ReplayBatch(features.cpu(), memory.labels[rows].cpu())
