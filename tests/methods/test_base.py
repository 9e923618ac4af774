from dataclasses import replace
from typing import ClassVar

import pytest
import torch
from torch import nn
from torch.optim import SGD

from casper import ERACE, MLP, ConvNet, split_digits
from casper.errors import NonFiniteLossError
from casper.memory import Column, reservoir
from casper.methods import Finetune, Method
from casper.methods.base import bad_loss
from casper.step import Progress
from casper.types import Batch
from support import regularizer, small_trainer

PROGRESS = Progress(epoch=0, epochs=1, step=0)


def one_batch(trainer, size=16):
    task = trainer.stream[0]
    part = task.train[torch.arange(size)]
    return Batch(part.images, part.labels, trainer.method.transform.test(part.images)), task


class NothingToLearn(Finetune):
    remembered = 0

    def losses(self, step, passes):
        return {}

    def remember(self, step, passes):
        self.remembered += len(step.stream)


def test_a_step_without_terms_changes_no_parameter_but_is_remembered():
    trainer = small_trainer(NothingToLearn())
    method = trainer.method
    before = [parameter.clone() for parameter in trainer.net.parameters()]
    batch, task = one_batch(trainer)
    assert method.observe(batch, task, PROGRESS, SGD(trainer.net.parameters(), lr=1.0)) == {}
    assert all(torch.equal(old, new) for old, new in zip(before, trainer.net.parameters(), strict=True))
    assert method.remembered == 16


def test_the_update_is_the_gradient_of_the_sum_of_the_terms():
    class TwoTerms(Finetune):
        def losses(self, step, passes):
            stream = super().losses(step, passes)["stream"]
            return {"stream": stream, "half": 0.5 * stream}

    results = []
    for method, lr in ((Finetune(), 1.5), (TwoTerms(), 1.0)):
        trainer = small_trainer(method)
        trainer.net.eval()
        batch, task = one_batch(trainer)
        method.observe(batch, task, PROGRESS, SGD(trainer.net.parameters(), lr=lr))
        results.append(list(trainer.net.parameters()))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_clip_comes_before_the_update():
    class NoGradient(Finetune):
        def clip(self, parameters):
            for parameter in parameters:
                parameter.grad.zero_()

    trainer = small_trainer(NoGradient())
    method = trainer.method
    before = [parameter.clone() for parameter in trainer.net.parameters()]
    batch, task = one_batch(trainer)
    method.observe(batch, task, PROGRESS, SGD(trainer.net.parameters(), lr=1.0))
    assert all(torch.equal(old, new) for old, new in zip(before, trainer.net.parameters(), strict=True))


def test_a_loss_that_is_not_finite_stops_before_the_update_and_names_the_term():
    trainer = small_trainer("er-ace", lr=1e20)
    with pytest.raises(NonFiniteLossError, match=r"task 1, epoch 1, step \d+: stream = (nan|inf).*1e\+20"):
        trainer.run()
    assert all(parameter.grad is None or parameter.grad.isfinite().all() for parameter in trainer.net.parameters())


def test_terms_are_named_and_weighted():
    trainer = small_trainer("er-ace", [regularizer("casper", weight=0.25)])
    terms = []
    trainer.listeners = (lambda event: terms.append(getattr(event, "terms", {})),)
    trainer.run()
    last = [term for term in terms if term][-1]
    assert set(last) == {"stream", "replay", "casper"}
    assert not any(term.requires_grad for term in last.values())
    assert last["casper"].abs() <= 0.25 * (3 * 2 + 2)  # p eigenvalues of at most 2, and one subtracted


def test_method_is_abstract():
    with pytest.raises(TypeError, match="losses"):
        Method()


def test_a_copy_with_another_network_leaves_the_original_alone():
    trainer = small_trainer("er-ace")
    other = small_trainer("er-ace", seed=1).net
    twin = trainer.method.with_net(other)
    assert twin.net is other
    assert trainer.method.net is trainer.net
    assert twin.memory is trainer.memory


class KeepsTaskAndLogits(Finetune):
    keeps_memory = True
    memory_columns: ClassVar = {"task": Column(torch.int64), "logits": Column(torch.float32, per_class=True)}

    def draw(self, batch, task, progress):
        replays = (self.replay_batch(), self.replay_batch()) if len(self.memory) else ()
        return self.make_step(batch, task, progress, replays)

    def remember(self, step, passes):
        logits = step.stream.images.flatten(1)[:, :10].float()  # tells which image a row belongs to
        columns = {"task": torch.full_like(step.stream.labels, step.task.index), "logits": logits}
        images, labels = step.stream.images, step.stream.labels
        self.memory.insert(images, labels, columns, policy=reservoir, generator=self.generators["memory"])


def test_columns_of_a_replay_batch_belong_to_its_images():
    trainer = small_trainer(KeepsTaskAndLogits(), buffer_size=40)
    trainer.run()
    batch = trainer.method.replay_batch()
    assert torch.equal(batch.columns["logits"], batch.images.flatten(1)[:, :10].float())
    assert torch.equal(batch.columns["task"], batch.labels // 2)
    assert torch.equal(batch.images, trainer.memory.images[batch.rows])


def test_several_replay_batches_are_passed_one_by_one_under_a_number():
    trainer = small_trainer(KeepsTaskAndLogits())
    trainer.run_phase()
    batch, task = one_batch(trainer)
    step = trainer.method.draw(batch, task, PROGRESS)
    passes = trainer.method.forward(step)
    assert list(passes) == ["stream", "replay 1", "replay 2"]
    assert not torch.equal(step.replays[0].rows, step.replays[1].rows)


def test_a_replay_batch_draws_rows_and_views_from_separate_generators():
    trainer = small_trainer("er")
    trainer.run_phase()
    before = {name: generator.get_state() for name, generator in trainer.generators.items()}
    rows = trainer.memory.draw_uniform(16, torch.Generator().set_state(before["replay"]))
    batch = trainer.method.replay_batch()
    inputs = trainer.stream.transform.train(batch.images, torch.Generator().set_state(before["augment"]))
    assert torch.equal(batch.rows, rows)
    assert torch.equal(batch.inputs, inputs)
    moved = {
        name for name, generator in trainer.generators.items() if not torch.equal(generator.get_state(), before[name])
    }
    assert moved == {"replay", "augment"}


def test_a_method_may_transform_images_differently():
    class Dark(Finetune):
        def make_transform(self, transform):
            return replace(transform, mean=(1.0,), std=(2.0,), padding=0)

    trainer = small_trainer(Dark())
    images = trainer.stream[0].test.images
    expected = (images.float() / 255 - 1) / 2
    torch.testing.assert_close(trainer.method.transform.test(images), expected)
    torch.testing.assert_close(trainer.method.view(images, torch.Generator()), expected)
    assert small_trainer("finetune").method.transform is trainer.stream.transform


def test_a_bad_loss_names_term_place_and_rate():
    terms = {"stream": torch.tensor(1.0), "casper": torch.tensor(float("nan")), "replay": torch.tensor(float("inf"))}
    error = bad_loss(terms, split_digits()[2], Progress(1, 5, 36), SGD(nn.Linear(1, 1).parameters(), lr=0.25))
    assert str(error) == (
        "the loss is not finite in task 3, epoch 2, step 37: casper = nan, replay = inf; "
        "the learning rate is 0.25, try a smaller one"
    )


def test_finite_terms_may_have_an_infinite_sum():
    terms = {"stream": torch.tensor(3e38), "replay": torch.tensor(3e38)}
    assert "step 1: their sum;" in str(
        bad_loss(terms, split_digits()[0], Progress(0, 1, 0), SGD(nn.Linear(1, 1).parameters(), lr=0.25))
    )


def test_a_method_that_needs_maps_refuses_a_backbone_without(monkeypatch):
    ERACE().make_network(MLP((1, 8, 8)), 10, "fp32")
    monkeypatch.setattr(ERACE, "needs_maps", True)
    ERACE().make_network(ConvNet((1, 8, 8)), 10, "fp32")
    with pytest.raises(ValueError, match=r"`backbone` must be one with stage maps.*MLP, which has none"):
        ERACE().make_network(MLP((1, 8, 8)), 10, "fp32")
    with pytest.raises(ValueError, match="one with stage maps"):
        small_trainer("er-ace", backbone=MLP)
