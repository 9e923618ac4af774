"""Everything that changes during training, whenever the trainer tells an event."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from casper.errors import ParameterError
from casper.randomness import generator_states, global_state, set_generator_states
from casper.training.position import Position

if TYPE_CHECKING:
    from casper.training.trainer import Trainer


def run_state(trainer: "Trainer") -> dict[str, Any]:
    """Gather the state of all parts: nested dictionaries of tensors and plain values."""
    record = trainer.recalibrated_record
    return {
        "position": trainer.position.state_dict(),
        "data": list(trainer.data),
        "steps": trainer.steps,
        "seconds": {"run": dict(trainer.seconds), "task": dict(trainer.task_seconds)},
        "net": trainer.net.state_dict(),
        "optimizer": None if trainer.optimizer is None else trainer.optimizer.state_dict(),
        "scheduler": None if trainer.scheduler is None else trainer.scheduler.state_dict(),
        "memory": trainer.memory.state_dict(),
        "method": trainer.method.state_dict(),
        "regularizers": [regularizer.state_dict() for regularizer in trainer.regularizers],
        "generators": generator_states(trainer.generators),
        "global_generators": global_state(),
        "record": trainer.record.state_dict(),
        "recalibrated_record": None if record is None else record.state_dict(),
        "statistics": trainer.statistics,
        "features": list(trainer.features),
        "latent": dict(trainer.latent),
        "pieces": [],
    }


def load_run_state(trainer: "Trainer", state: Mapping[str, Any]) -> None:
    """Hand every part its state, in a trainer built in the same way; other images are a `ParameterError`."""
    if state["data"] and state["data"] != trainer.fingerprint():
        raise ParameterError("stream", "the one the run began with", "other images")
    trainer.position = Position(**state["position"])
    trainer.resumed, trainer.data = True, list(state["data"])
    trainer.steps = state["steps"]
    trainer.seconds, trainer.task_seconds = dict(state["seconds"]["run"]), dict(state["seconds"]["task"])
    trainer.net.load_state_dict(state["net"])
    trainer.optimizer, trainer.scheduler = None, None
    if state["optimizer"] is not None:
        trainer.optimizer = trainer.make_optimizer()
        trainer.scheduler = trainer.make_scheduler(trainer.optimizer)
        if trainer.scheduler is not None:
            trainer.scheduler.load_state_dict(state["scheduler"])
        trainer.optimizer.load_state_dict(state["optimizer"])  # last: making a scheduler may set the rate
    trainer.memory.load_state_dict(state["memory"])
    trainer.method.load_state_dict(state["method"])
    for regularizer, part in zip(trainer.regularizers, state["regularizers"], strict=True):
        regularizer.load_state_dict(part)
    set_generator_states(trainer.generators, state["generators"])
    trainer.global_state = state["global_generators"]
    trainer.record.load_state_dict(state["record"])
    if trainer.recalibrated_record is not None:
        trainer.recalibrated_record.load_state_dict(state["recalibrated_record"])
    statistics = state["statistics"]
    trainer.statistics = None if statistics is None else statistics.to(trainer.device)
    trainer.features = [(each.to(trainer.device), labels.to(trainer.device)) for each, labels in state["features"]]
    trainer.latent = dict(state["latent"])
    trainer.pieces.load(state["pieces"])
