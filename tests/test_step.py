from dataclasses import FrozenInstanceError, fields, replace

import pytest
import torch
from torch import nn

from casper.memory import Buffer
from casper.nets import MLP, FeatureClassifier
from casper.step import Progress, Step
from casper.streams import Transform
from casper.types import Batch, ImageSet, Task


def make_step():
    images = torch.arange(256, dtype=torch.uint8).reshape(4, 1, 8, 8)
    labels = torch.tensor([0, 1, 0, 1])
    transform = Transform((0.5,), (0.5,), padding=1)
    task = Task(lambda: ImageSet(images, labels), lambda: ImageSet(images, labels), (0, 1))
    net = FeatureClassifier(MLP((1, 8, 8), hidden=5), nn.Linear(5, 2))
    batch = Batch(images, labels, transform.test(images))
    memory = Buffer(10, (1, 8, 8))
    return Step(batch, (), net, memory, task, Progress(0, 3, 7), 4, transform.train)


def test_progress_counts():
    progress = Progress(epoch=1, epochs=5, step=42)
    assert (progress.epoch, progress.epochs, progress.step) == (1, 5, 42)
    assert progress == Progress(1, 5, 42)
    assert progress != Progress(1, 5, 43)


def test_step_holds_what_an_update_may_look_at():
    names = [field.name for field in fields(Step)]
    assert names[:8] == ["stream", "replays", "net", "memory", "task", "progress", "batch_size", "view"]
    assert names[8:] == ["learned", "first_labelled", "hides_labels", "trusts_labels"]
    step = make_step()
    assert step.replays == ()
    assert step.progress == Progress(0, 3, 7)
    assert step.batch_size == 4
    assert step.net(step.stream.inputs).logits.shape == (4, 2)


def test_view_turns_stored_images_into_inputs():
    step = make_step()
    first, again, other = (step.view(step.stream.images, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1))
    assert first.dtype == torch.float32
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("name", [field.name for field in fields(Step)])
def test_step_cannot_be_changed(name):
    with pytest.raises(FrozenInstanceError):
        setattr(make_step(), name, None)


def test_progress_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Progress(0, 1, 2).step = 3


def test_what_is_known_of_the_stream_is_all_of_it_unless_a_part_is_named():
    step = make_step()
    assert step.known is step.stream
    part = step.stream[torch.tensor([1, 3])]
    assert replace(step, learned=part).known is part
