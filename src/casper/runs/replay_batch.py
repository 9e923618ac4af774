"""One replay batch of a run's memory, as the network sees it: the same items for all runs of a seed and memory."""

from torch import Tensor

from casper.analysis import small_graph
from casper.nets import features_of
from casper.randomness import named_generator
from casper.runs.build import build_trainer
from casper.runs.directory import RunDirectory
from casper.runs.results import SmallGraph
from casper.runs.state_kinds import StateKinds, load_trainer
from casper.training import Trainer

_ITEMS, _CLASSES = 64, 8  # few enough for a readable plot


def replay_batch_of(trainer: Trainer) -> tuple[Tensor, Tensor]:
    """Draw a class-balanced batch from a trainer's memory; returns its features in evaluation mode, and its labels."""
    memory = trainer.memory
    rows = memory.draw_balanced(_ITEMS, _CLASSES, named_generator(trainer.seed, "analyse"))
    features = features_of(trainer.net, memory.images[rows], trainer.method.transform.test)
    return features.cpu(), memory.labels[rows].cpu()


def read_replay_graph(directory: RunDirectory, num_neighbors: int) -> SmallGraph:
    """Compute the latent graph of the replay batch of a finished run, from its last checkpoint.

    Raises:
        ConfigError: If the checkpoint is missing or damaged.
    """
    config = directory.read_config()
    trainer = build_trainer(config)
    load_trainer(trainer, StateKinds(trainer), directory, directory.checkpoint, config.hash)
    return SmallGraph.model_validate(small_graph(*replay_batch_of(trainer), num_neighbors))
