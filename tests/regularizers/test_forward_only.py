import pytest
import torch

from casper import CaSpeR, ForwardOnly
from casper.regularizers.passes import ReplayPass
from support import small_trainer


def test_makes_one_extra_pass_per_step_from_the_second_task_on():
    def passes(regularizers):
        trainer = small_trainer("er-ace", regularizers)
        calls = []
        trainer.net.register_forward_hook(lambda net, *_: calls.append(net.training))
        trainer.run()
        return sum(calls)

    steps_of_second_task = 15
    assert passes([ForwardOnly(num_classes=3)]) == passes([]) + steps_of_second_task


def test_its_pass_records_no_gradient():
    part = ForwardOnly(num_classes=3)
    trainer = small_trainer("er-ace", [part])
    recorded = []
    features = part.replay.features

    def recording(*arguments):
        recorded.append(features(*arguments))
        return recorded[-1]

    object.__setattr__(part.replay, "features", recording)
    trainer.run()
    assert recorded
    assert not any(tensor.requires_grad for tensor in recorded)


def test_randomness_is_caspers():
    one, other = ForwardOnly(), CaSpeR(1.0, 8, 3)
    for part in (one, other):
        part.seed(5)
    assert torch.equal(one.state_dict()["randomness"]["generator"], other.state_dict()["randomness"]["generator"])


@pytest.mark.parametrize("arguments", [{"weight": -1.0}, {"num_classes": 0}, {"num_samples": 1}, {"sampling": "x"}])
def test_bad_parameters_are_named(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        ForwardOnly(**arguments)


def test_a_number_of_classes_no_draw_can_meet_is_refused():
    with pytest.raises(ValueError, match="num_classes"):
        ForwardOnly(num_classes=16).check(batch_size=16)


def test_the_draw_is_as_requested():
    part = ForwardOnly(1.0, 5, num_samples=9, sampling="uniform", shrink=True)
    assert part.replay == ReplayPass(5, 9, "uniform", update_statistics=True, shrink=True)
