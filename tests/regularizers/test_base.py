import pytest
import torch

from casper import Regularizer
from support import assert_same_state, small_trainer


class Constant(Regularizer):
    name = generator_name = "constant"
    needs_memory = False

    def __init__(self, weight):
        self.weight = weight
        self.draws = []

    def loss(self, step, passes, generator):
        self.draws.append((torch.rand((), generator=generator).item(), torch.rand(()).item()))
        return step.net.head.bias.square().sum()


def test_the_term_is_the_weighted_loss():
    part = Constant(0.5)
    part.seed(0)

    class Step:
        class net:  # noqa: N801
            class head:  # noqa: N801
                bias = torch.tensor([1.0, 2.0])

    assert part.term(Step, {}).item() == 2.5


def test_weight_zero_never_calls_the_loss():
    part = Constant(0.0)
    part.seed(0)
    assert part.term(None, {}) is None
    assert part.draws == []


def test_randomness_continues_across_steps_and_from_a_saved_state():
    part = Constant(1.0)
    trainer = small_trainer("finetune", [part])
    trainer.run_phase()
    assert len(set(part.draws)) == len(part.draws)
    state, steps = part.state_dict(), len(part.draws)
    trainer.run_phase()
    later = part.draws[steps:]

    fresh = Constant(1.0)
    other = small_trainer("finetune", [fresh])
    fresh.load_state_dict(state)
    other.run_phase()  # one step longer than the second phase
    assert fresh.draws[: len(later)] == later


def test_a_regularizer_that_needs_no_memory_is_accepted_without_one():
    plain = small_trainer("finetune").run()
    regularized = small_trainer("finetune", [Constant(1.0)]).run()
    assert regularized["steps"] == plain["steps"]


def test_hooks_are_called_per_task_unless_the_weight_is_zero():
    calls = []

    class Hooked(Constant):
        def start_task(self, task, net):
            calls.append(("start", task.index))

        def end_task(self, task, net):
            calls.append(("end", task.index))

    small_trainer("finetune", [Hooked(1.0)]).run()
    small_trainer("finetune", [Hooked(0.0)]).run()
    assert calls == [("start", 0), ("end", 0), ("start", 1), ("end", 1)]


def test_regularizer_is_abstract():
    with pytest.raises(TypeError, match="loss"):
        Regularizer()


def test_two_with_one_generator_name_draw_the_same():
    first, second = Constant(1.0), Constant(1.0)
    for part in (first, second):
        part.seed(3)
    assert_same_state(first.state_dict(), second.state_dict())
