import pytest
import torch

from casper.regularizers.stream_pass import StreamPass
from casper.step import Progress
from casper.types import Batch
from support import small_trainer

LEARNT = {"stream": None}


def step_of(*, hides_labels):
    trainer = small_trainer("er-ace")
    trainer.method.hides_labels = hides_labels
    part = trainer.stream[0].train[torch.arange(6)]
    inputs = trainer.stream.transform.test(part.images)
    labels = torch.tensor([0, -1, -1, 1, -1, -1]) if hides_labels else part.labels
    return trainer.method.make_step(Batch(part.images, labels, inputs), trainer.stream[0], Progress(0, 1, 0))


@pytest.mark.parametrize(
    ("wanted", "hides_labels", "made"),
    [(None, True, True), (None, False, False), (True, False, True), (False, True, False)],
)
def test_made_where_labels_are_hidden_or_as_asked(wanted, hides_labels, made):
    step = step_of(hides_labels=hides_labels)
    features = StreamPass(wanted, None, update_statistics=False).features(step, LEARNT)
    assert (features is not None) == made
    if made:  # of all items, labelled or not, as the method sees them
        assert torch.equal(features, step.net(step.stream.inputs).features)


@pytest.mark.parametrize(("always", "made"), [(None, True), (True, True), (False, False)])
def test_made_also_where_the_method_has_nothing_to_learn(always, made):
    features = StreamPass(None, always, update_statistics=False).features(step_of(hides_labels=True), {})
    assert (features is not None) == made


@pytest.mark.parametrize("update", [True, False])
def test_statistics(update):
    step = step_of(hides_labels=True)
    before = [buffer.clone() for buffer in step.net.buffers()]
    StreamPass(None, None, update_statistics=update).features(step, LEARNT)
    assert update == any(not torch.equal(*pair) for pair in zip(step.net.buffers(), before, strict=True))
