from dataclasses import replace

import pytest
import torch

from casper import split_digits
from casper.errors import ParameterError
from casper.methods import Finetune, NonFiniteLossError
from casper.training import StepDone, TaskStarted
from casper.types import ImageSet
from support import regularizer, small_trainer


class StoppedError(Exception):
    pass


def stopped_in_the_middle():
    def listen(event):
        if isinstance(event, StepDone) and event.task == 1 and event.step == 4:
            raise StoppedError

    trainer = small_trainer("er", listeners=[listen])
    with pytest.raises(StoppedError):
        trainer.run()
    return trainer.state_dict()


def with_images(stream, change):
    """The same stream, the training images of the second task changed."""

    def make_task(number):
        task = stream.make_task(number)
        return replace(task, make_train=lambda: change(task.train)) if number == 1 else task

    return replace(stream, make_task=make_task)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: ImageSet(data.images ^ (torch.arange(len(data)) == 3)[:, None, None, None], data.labels),
        lambda data: ImageSet(data.images, data.labels.flip(0)),
        lambda data: data[torch.arange(len(data) - 1)],
        lambda data: data[torch.arange(len(data)).flip(0)],
    ],
    ids=["a pixel", "labels", "one fewer", "order"],
)
def test_a_run_does_not_go_on_with_other_images(change):
    state = stopped_in_the_middle()
    trainer = small_trainer("er", stream=with_images(split_digits()[:2], change))
    trainer.load_state_dict(state)
    with pytest.raises(ParameterError, match=r"the one the run began with. Found other images in task 2"):
        trainer.run()


@pytest.mark.parametrize("kind", [TaskStarted, StepDone])
def test_a_task_that_was_started_is_not_started_again(kind):
    def stop(event):
        if isinstance(event, kind) and event.task == 1:
            raise StoppedError

    first = small_trainer("podnet", [regularizer("casper")], listeners=[stop])
    with pytest.raises(StoppedError):
        first.run()
    second = small_trainer("podnet", [regularizer("casper")])
    second.load_state_dict(first.state_dict())
    second.method.start_task = lambda *_: pytest.fail("started again")
    second.regularizers[0].start_task = lambda *_: pytest.fail("started again")
    second.run()


def test_training_is_in_training_mode():
    expected, changed = small_trainer("er"), small_trainer("er")
    changed.net.eval()
    assert {**changed.run(), "seconds": None} == {**expected.run(), "seconds": None}


def test_weights_that_are_no_numbers_end_the_run_before_they_are_measured():
    class Overflowing(Finetune):
        steps = 0

        def clip(self, parameters):
            self.steps += 1
            if self.steps == 16:  # the last of the task: no loss will tell
                next(iter(parameters)).grad.fill_(float("inf"))

    trainer = small_trainer(Overflowing(), stream=split_digits()[:1])
    with pytest.raises(NonFiniteLossError, match=r"of the network is not finite at the end of task 1; .* rate is 0\.1"):
        trainer.run()
