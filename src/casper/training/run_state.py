"""Everything that changes during training, between two tasks."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from casper.randomness import generator_states, global_state, set_generator_states

if TYPE_CHECKING:
    from casper.training.trainer import Trainer


def run_state(trainer: "Trainer") -> dict[str, Any]:
    """Gather the state of all parts: nested dictionaries of tensors and plain values."""
    record = trainer.recalibrated_record
    return {
        "finished_phases": trainer.finished_phases,
        "steps": trainer.steps,
        "seconds": dict(trainer.seconds),
        "net": trainer.net.state_dict(),
        "optimizer": None if trainer.optimizer is None else trainer.optimizer.state_dict(),
        "memory": trainer.memory.state_dict(),
        "method": trainer.method.state_dict(),
        "regularizers": [regularizer.state_dict() for regularizer in trainer.regularizers],
        "generators": generator_states(trainer.generators),
        "global_generators": global_state(),
        "record": trainer.record.state_dict(),
        "recalibrated_record": None if record is None else record.state_dict(),
    }


def load_run_state(trainer: "Trainer", state: Mapping[str, Any]) -> None:
    """Hand every part its state, in a trainer built in the same way."""
    trainer.finished_phases = state["finished_phases"]
    trainer.steps = state["steps"]
    trainer.seconds = dict(state["seconds"])
    trainer.net.load_state_dict(state["net"])
    if state["optimizer"] is not None:
        trainer.optimizer = trainer.make_optimizer()
        trainer.optimizer.load_state_dict(state["optimizer"])
    trainer.memory.load_state_dict(state["memory"])
    trainer.method.load_state_dict(state["method"])
    for regularizer, part in zip(trainer.regularizers, state["regularizers"], strict=True):
        regularizer.load_state_dict(part)
    set_generator_states(trainer.generators, state["generators"])
    trainer.global_state = state["global_generators"]
    trainer.record.load_state_dict(state["record"])
    if trainer.recalibrated_record is not None:
        trainer.recalibrated_record.load_state_dict(state["recalibrated_record"])
