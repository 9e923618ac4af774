import torch

from casper.training.run_state import load_run_state, run_state
from support import assert_same_state, regularizer, small_trainer


def test_every_part_is_in_the_state_and_gets_its_own_back():
    trainer = small_trainer("er-ace", [regularizer("casper")], recalibrate=True)
    trainer.run()
    state = run_state(trainer)
    other = small_trainer("er-ace", [regularizer("casper")], recalibrate=True, seed=8)
    load_run_state(other, state)
    again = run_state(other)
    # The global generators are the process's own until the trainer runs.
    assert_same_state({**again, "global_generators": None}, {**state, "global_generators": None})
    assert torch.equal(other.global_state["cpu"], state["global_generators"]["cpu"])


def test_a_state_before_the_first_task_has_no_optimizer():
    state = run_state(small_trainer("er"))
    assert state["optimizer"] is None
    other = small_trainer("er")
    load_run_state(other, state)
    assert other.optimizer is None
