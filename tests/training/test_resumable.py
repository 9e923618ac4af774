import pytest
import torch

from casper.methods import ICaRL
from casper.nets import inference
from casper.training import PieceDone, evaluation
from support import DropoutConvNet, assert_same_state, regularizer, small_trainer, without_seconds


def number(value):
    return lambda: torch.tensor(float(value))


def never():
    raise AssertionError("was computed twice")


def trainer_with_events(**changes):
    events = []
    return small_trainer("er", listeners=[events.append], **changes), events


def test_outside_a_unit_nothing_is_cached():
    trainer, events = trainer_with_events()
    assert trainer.work.compute(number(1)) == 1
    assert events == []
    assert trainer.state_dict()["pieces"] == []


def test_a_restarted_unit_receives_the_cached_results():
    trainer, events = trainer_with_events()
    with trainer.work.unit("evaluate", changes=False):
        assert trainer.work.compute(number(1)) == 1
        assert trainer.work.compute(number(2)) == 2
        state = trainer.state_dict()
    assert events == [PieceDone(1), PieceDone(2)]
    assert trainer.state_dict()["pieces"] == []
    other, events = trainer_with_events()
    other.load_state_dict(state)
    with other.work.unit("evaluate", changes=False):
        assert [other.work.compute(never) for _ in range(2)] == [1, 2]
        assert events == []
        assert other.work.compute(number(3)) == 3
        assert events == [PieceDone(3)]
        assert len(other.state_dict()["pieces"]) == 3
    with other.work.unit("evaluate", changes=False):
        assert other.work.compute(number(4)) == 4


def test_a_piece_within_a_piece_is_part_of_it():
    trainer, events = trainer_with_events()
    with trainer.work.unit("evaluate", changes=False):
        assert trainer.work.compute(lambda: trainer.work.compute(number(1)) + 1) == 2
        assert len(trainer.state_dict()["pieces"]) == 1
    assert events == [PieceDone(1)]


def test_a_state_in_the_midst_of_changes_is_that_of_the_start():
    trainer, _ = trainer_with_events()
    before = trainer.state_dict()
    weight = trainer.net.head.weight.detach().clone()
    with trainer.work.unit("train", changes=True):
        with torch.no_grad():
            trainer.net.head.weight += 1
        trainer.position.phase = 1
        trainer.work.compute(number(1))
        state = trainer.state_dict()
    assert torch.equal(state["net"]["head.weight"], weight)
    assert state["position"] == before["position"]
    assert trainer.state_dict()["position"]["phase"] == 1


def test_generators_continue_after_a_cached_result():
    def drawn(trainer):
        """Draw outside a piece, in one and in another; returns all draws."""
        generator = trainer.generators["augment"]
        with trainer.work.unit("train", changes=True):
            first = torch.rand((), generator=generator)
            second = trainer.work.compute(lambda: torch.rand((), generator=generator) + torch.rand(()))
            states.append(trainer.state_dict())
            third = torch.rand((), generator=generator) + torch.rand(())
        return [first, second, third]

    states = []
    expected = drawn(small_trainer("er"))
    again = small_trainer("er")
    again.load_state_dict(states[0])
    assert drawn(again) == expected


def test_the_time_spent_in_a_unit_is_not_lost():
    trainer, _ = trainer_with_events()
    with trainer.work.unit("train", changes=True):
        trainer.work.compute(number(1))
        first = trainer.state_dict()["seconds"]["run"]["train"]
        trainer.work.compute(number(2))
        assert trainer.state_dict()["seconds"]["run"]["train"] > first > 0


class StoppedError(Exception):
    """What a listener stops a run with."""


@pytest.mark.parametrize("place", [3, 30, 48])
def test_a_trainer_stopped_in_the_midst_of_a_unit_runs_on(place, monkeypatch):
    monkeypatch.setattr(inference, "CHUNK", 30)
    monkeypatch.setattr(evaluation, "CHUNK", 30)
    events = []

    def stop(event):
        events.append(event)
        if sum(isinstance(each, PieceDone) for each in events) == place and isinstance(event, PieceDone):
            raise StoppedError

    def build(listeners=()):
        return small_trainer(ICaRL(), [regularizer("casper")], backbone=DropoutConvNet, listeners=listeners)

    whole, stopped = build(), build([stop])
    whole.run()
    with pytest.raises(StoppedError):
        stopped.run()
    assert stopped.work.under_way
    stopped.run()
    assert not stopped.work.under_way
    assert_same_state(without_seconds(stopped.state_dict()), without_seconds(whole.state_dict()))


def test_a_resumed_end_of_a_task_passes_no_image_again(monkeypatch):
    monkeypatch.setattr(inference, "CHUNK", 20)
    passed, states = [], []

    def listen(event):
        if isinstance(event, PieceDone) and trainer.position.stage == "training":
            states.append(trainer.state_dict())

    trainer = small_trainer("icarl", listeners=[listen])
    trainer.run_phase()
    images = -(-len(trainer.stream[0].train) // 20)
    assert len(states) == images + 1  # and the exemplars, for the class means
    again = small_trainer("icarl")
    again.load_state_dict(states[images - 1])
    again.net.register_forward_pre_hook(lambda net, given: None if net.training else passed.append(len(given[0])))
    again.method.predict = lambda images: torch.zeros(len(images), 10)
    again.run_phase()
    assert passed == [len(again.memory)]


def stopped_in_the_second_tasks_end(method):
    """A trainer that a listener stops there, in the midst."""
    events = []

    def stop(event):
        events.append(event)
        if isinstance(event, PieceDone) and trainer.position.phase == 1 and trainer.position.stage == "training":
            raise StoppedError

    trainer = small_trainer(method, buffer_size=40, listeners=[stop])
    with pytest.raises(StoppedError):
        trainer.run()
    trainer.listeners = ()
    return trainer


@pytest.mark.parametrize("method", ["icarl", "x-der"])
def test_calls_on_a_stopped_trainer_are_not_cached_and_phases_resume(method):
    whole, stopped = small_trainer(method, buffer_size=40), stopped_in_the_second_tasks_end(method)
    whole.run()
    pieces = len(stopped.state_dict()["pieces"])
    evaluation.evaluate(stopped.method, stopped.stream[0], "class")
    assert len(stopped.state_dict()["pieces"]) == pieces == 1
    stopped.run_phase()
    stopped.run()
    assert_same_state(without_seconds(stopped.state_dict()), without_seconds(whole.state_dict()))


def test_a_listener_may_evaluate_at_any_event():
    def listen(event):
        evaluation.evaluate(trainer.method, trainer.stream[0], "class")

    trainer, whole = small_trainer("er", listeners=[listen]), small_trainer("er")
    trainer.run()
    whole.run()
    assert_same_state(without_seconds(trainer.state_dict()), without_seconds(whole.state_dict()))


def test_pieces_of_other_work_are_refused():
    trainer, _ = trainer_with_events()
    with trainer.work.unit("evaluate", changes=False):
        trainer.work.compute(number(1))
        trainer.work.compute(number(2))
        state = trainer.state_dict()
    other, _ = trainer_with_events()
    other.load_state_dict(state)
    with (
        pytest.raises(ValueError, match="1 cached results that were never requested"),
        other.work.unit("evaluate", changes=False),
    ):
        other.work.compute(never)


def test_a_trainer_stopped_at_a_step_resumes_with_its_random_numbers():
    events = []

    def stop(event):
        events.append(event)
        if len(events) == 20:
            raise StoppedError

    whole, stopped = (small_trainer("er", backbone=DropoutConvNet, listeners=listeners) for listeners in ([], [stop]))
    whole.run()
    with pytest.raises(StoppedError):
        stopped.run()
    torch.rand(3)  # somebody else's
    stopped.run()
    assert_same_state(without_seconds(stopped.state_dict()), without_seconds(whole.state_dict()))
