import pytest
import torch

from casper.memory import reservoir
from casper.methods._nearest_mean import NearestMeanMethod
from casper.nets import inference
from casper.step import Progress
from casper.types import Batch
from support import small_trainer

SCALES = pytest.mark.parametrize("scale", [(False, False), (True, False), (False, True), (True, True)])


class Remembering(NearestMeanMethod):
    """Keeps what it sees, and learns to keep its features small."""

    def __init__(self, scale=(False, False)):
        super().__init__(unit_features=scale[0], unit_means=scale[1])

    def losses(self, step, passes):
        return {"small": passes["stream"].features.square().mean()}

    def remember(self, step, passes):
        super().remember(step, passes)
        self.memory.insert(
            step.stream.images, step.stream.labels, policy=reservoir, generator=self.generators["memory"]
        )


def features(net, transform, images):
    net.eval()
    with torch.no_grad():
        result = net((images.float() / 255 - transform.mean[0]) / transform.std[0]).features
    net.train()
    return result


def of_length_one(rows):
    return rows / rows.norm(dim=-1, keepdim=True)


@SCALES
def test_scores_literally(scale):
    trainer = small_trainer(Remembering(scale))
    trainer.run()
    memory, images = trainer.memory, trainer.stream[1].test.images
    stored, compared = (features(trainer.net, trainer.stream.transform, x) for x in (memory.images, images))
    scores = trainer.method.predict(images)
    assert scores.shape == (len(images), 10)
    for label in range(10):
        rows = stored[memory.labels == label]
        if len(rows) == 0:
            assert scores[:, label].isneginf().all()
            continue
        mean = (of_length_one(rows) if scale[0] else rows).mean(dim=0)
        mean, others = (of_length_one(mean), of_length_one(compared)) if scale[1] else (mean, compared)
        torch.testing.assert_close(scores[:, label], -((others - mean) ** 2).sum(dim=1), rtol=1e-4, atol=1e-5)


def test_an_untrained_method_has_no_score():
    trainer = small_trainer(Remembering())
    assert trainer.method.predict(trainer.stream[0].test.images).isneginf().all()


def test_means_are_computed_once_and_again_after_every_step(monkeypatch):
    trainer = small_trainer(Remembering())
    method, task = trainer.method, trainer.stream[0]
    computed = []
    compute = method._class_means
    monkeypatch.setattr(method, "_class_means", lambda: computed.append(1) or compute())
    images, labels = task.train.images[:16], task.train.labels[:16]
    batch, optimizer = Batch(images, labels, trainer.stream.transform.test(images)), trainer.make_optimizer()
    method.observe(batch, task, Progress(0, 1, 0), optimizer)
    first = method.predict(task.test.images)
    assert torch.equal(method.predict(task.test.images), first)
    assert len(computed) == 1
    method.observe(batch, task, Progress(0, 1, 1), optimizer)
    assert not torch.equal(method.predict(task.test.images), first)
    assert len(computed) == 2
    method.end_task(task)
    method.predict(task.test.images)
    assert len(computed) == 3


def test_means_at_the_end_of_a_task_are_computed_in_parts(monkeypatch):
    monkeypatch.setattr(inference, "CHUNK", 6)
    trainer = small_trainer(Remembering())
    trainer.run_phase()
    pieces = []
    trainer.method.compute = lambda function: pieces.append(function()) or pieces[-1]
    trainer.method.end_task(trainer.stream[0])
    assert [len(piece) for piece in pieces] == [6, 6, 6, 2]


def test_a_copy_with_another_network_has_separate_means():
    trainer, other = small_trainer(Remembering()), small_trainer(Remembering(), seed=8)
    trainer.run()
    images = trainer.stream[0].test.images
    own = trainer.method.predict(images)
    found = trainer.method.with_net(other.net).predict(images)
    assert torch.equal(trainer.method.predict(images), own)
    trainer.method.net, trainer.method._means = other.net, None
    torch.testing.assert_close(found, trainer.method.predict(images))


def test_the_means_are_its_state():
    trainer = small_trainer(Remembering())
    trainer.run()
    fresh = small_trainer(Remembering()).method
    assert fresh.state_dict() == {"means": None}
    fresh.load_state_dict(trainer.method.state_dict())
    assert torch.equal(fresh._means.nan_to_num(), trainer.method._means.nan_to_num())
    fresh.reset()
    assert fresh.state_dict() == {"means": None}
    fresh.load_state_dict({"means": None})
    assert fresh.state_dict() == {"means": None}


def test_a_memory_too_small_for_all_classes_is_refused():
    with pytest.raises(ValueError, match=r"`buffer_size` must be at least 4, one per class, but got 3"):
        small_trainer(Remembering(), buffer_size=3)
