from dataclasses import replace

import pytest
import torch

from casper.memory import reservoir
from casper.regularizers.passes import ReplayPass, StreamPass, extra_pass
from casper.step import Progress
from casper.types import Batch
from support import small_trainer


@pytest.mark.parametrize("update", [True, False])
def test_features_are_those_of_training_mode_and_statistics_change_only_if_requested(update):
    net = small_trainer("er").net.train()
    inputs = torch.randn(9, 1, 8, 8)
    before = [buffer.clone() for buffer in net.buffers()]
    features = extra_pass(net, inputs, update_statistics=update)
    changed = [not torch.equal(*pair) for pair in zip(net.buffers(), before, strict=True)]
    assert all(changed) if update else not any(changed)
    assert features.requires_grad
    assert torch.equal(features, net(inputs).features)


def step_with(labels, *, task=1, batch_size=16):
    """A step whose memory holds items with these labels."""
    trainer = small_trainer("er", batch_size=batch_size, buffer_size=max(len(labels), 1))
    images = torch.arange(len(labels), dtype=torch.uint8)[:, None, None, None].expand(-1, 1, 8, 8)
    trainer.memory.insert(images, torch.tensor(labels), policy=reservoir, generator=torch.Generator())
    return trainer.method.make_step(None, trainer.stream[task], Progress(0, 1, 0))


def generator():
    return torch.Generator().manual_seed(0)


def replay(**changes):
    return ReplayPass(
        **{"num_classes": 2, "num_samples": None, "sampling": "balanced", "update_statistics": True, **changes}
    )


def test_nothing_is_drawn_in_the_first_task():
    assert replay().rows(step_with([0, 0, 1, 1], task=0), generator()) is None


@pytest.mark.parametrize("labels", [[], [0], [0, 0, 0], [0, 1]])
@pytest.mark.parametrize("sampling", ["balanced", "uniform", "all"])
def test_fewer_than_two_classes_or_items_are_no_draw(labels, sampling):
    rows = replay(sampling=sampling).rows(step_with(labels), generator())
    two_of_two = labels == [0, 1] and sampling != "balanced"  # a balanced draw takes classes of at least two items
    assert (rows is not None) == two_of_two


def test_a_balanced_draw_has_the_requested_classes_and_a_batch_of_items():
    step = step_with([0, 1, 2, 3] * 10)
    rows = replay(num_classes=3).rows(step, generator())
    counts = step.memory.labels[rows].bincount(minlength=4).sort().values.tolist()
    assert counts == [0, 5, 5, 6]


def test_the_number_of_samples_can_be_set():
    assert len(replay(num_samples=9).rows(step_with([0, 1] * 10), generator())) == 9


def test_all_takes_every_row_in_order():
    step = step_with([0, 1, 2] * 4)
    assert replay(sampling="all").rows(step, generator()).tolist() == list(range(12))


@pytest.mark.parametrize("update", [True, False])
def test_statistics_change_only_if_enabled(update):
    step = step_with([0, 1] * 10)
    step.net.train()
    before = {name: buffer.clone() for name, buffer in step.net.named_buffers()}
    features = replay(update_statistics=update).features(step, torch.arange(8), generator())
    moved = [not torch.equal(before[name], buffer) for name, buffer in step.net.named_buffers()]
    assert features.requires_grad
    assert all(moved) if update else not any(moved)


def test_not_updating_statistics_gives_the_same_features():
    step = step_with([0, 1] * 10)
    step.net.train()
    one, other = (
        replay(update_statistics=update).features(step, torch.arange(8), generator()) for update in (False, True)
    )
    assert torch.equal(one, other)


def test_images_are_transformed_as_in_training():
    step = step_with([0, 1] * 10)
    shown = []
    step.net.register_forward_pre_hook(lambda _, inputs: shown.append(inputs[0]))
    rows = torch.tensor([3, 19, 7, 11])
    replay().features(step, rows, generator())
    assert torch.equal(shown[0], step.view(step.memory.images[rows], generator()))


@pytest.mark.parametrize("shrink", [True, False])
def test_the_rule_for_scarce_classes_reaches_the_draw(shrink):
    # Two classes of eight and four of three items. For six classes a quota is three, which all can fill; for five it is
    # four: the released rule goes down to the two classes that can fill it, ours takes what the others have.
    step = step_with([0, 1] * 8 + [2, 3, 4, 5] * 3)
    rows = replay(num_classes=5, num_samples=16, shrink=shrink).rows(step, generator())
    assert len(step.memory.labels[rows].unique()) == (2 if shrink else 5)


@pytest.mark.parametrize(
    ("changes", "neighbors", "named"),
    [({"num_classes": 16}, 3, "num_classes"), ({}, 16, "num_neighbors"), ({"num_samples": 8}, 8, "num_neighbors")],
)
def test_what_no_draw_can_meet_is_refused(changes, neighbors, named):
    with pytest.raises(ValueError, match=f"`{named}` must be less than the draw"):
        replay(**changes).check(neighbors, batch_size=16)


def test_classes_times_neighbors_may_exceed_the_draw():
    replay(num_classes=13).check(5, batch_size=64)


def test_the_whole_memory_has_no_bound():
    replay(num_classes=100, sampling="all").check(100, batch_size=16)


@pytest.mark.parametrize("changes", [{"num_classes": 0}, {"num_samples": 1}, {"sampling": "some"}])
def test_bad_parameters_are_named(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        replay(**changes)


@pytest.mark.parametrize(
    ("choice", "trusted", "balanced"),
    [(None, True, True), (None, False, False), (True, False, True), (False, True, False)],
)
def test_where_labels_are_not_trusted_a_balanced_draw_is_uniform(choice, trusted, balanced):
    step = replace(step_with([0] * 40 + [1, 1] + [2, 2]), trusts_labels=trusted)
    part = replay(num_classes=3, trust_labels=choice)
    expected = step.memory.draw_balanced(16, 3, generator()) if balanced else step.memory.draw_uniform(16, generator())
    assert torch.equal(part.rows(step, generator()), expected)
    assert part.trusts_labels(step) == balanced


def test_labels_that_are_not_trusted_do_not_count_the_classes_of_a_draw():
    step = replace(step_with([0] * 30), trusts_labels=False)
    assert len(replay().rows(step, generator())) == 16
    assert replay(trust_labels=True).rows(step, generator()) is None


LEARNED = {"stream": None}


def step_of(*, hides_labels):
    trainer = small_trainer("er-ace")
    trainer.method.hides_labels = hides_labels
    part = trainer.stream[0].train[torch.arange(6)]
    inputs = trainer.stream.transform.test(part.images)
    labels = torch.tensor([0, -1, -1, 1, -1, -1]) if hides_labels else part.labels
    return trainer.method.make_step(Batch(part.images, labels, inputs), trainer.stream[0], Progress(0, 1, 0))


@pytest.mark.parametrize(
    ("wanted", "hides_labels", "runs"),
    [(None, True, True), (None, False, False), (True, False, True), (False, True, False)],
)
def test_runs_if_labels_are_hidden_or_as_requested(wanted, hides_labels, runs):
    step = step_of(hides_labels=hides_labels)
    features = StreamPass(wanted, None, update_statistics=False).features(step, LEARNED)
    assert (features is not None) == runs
    if runs:  # of all items, labelled or not, as the method sees them
        assert torch.equal(features, step.net(step.stream.inputs).features)


@pytest.mark.parametrize(("always", "runs"), [(None, True), (True, True), (False, False)])
def test_runs_also_if_the_method_has_nothing_to_learn(always, runs):
    features = StreamPass(None, always, update_statistics=False).features(step_of(hides_labels=True), {})
    assert (features is not None) == runs


@pytest.mark.parametrize("update", [True, False])
def test_statistics(update):
    step = step_of(hides_labels=True)
    before = [buffer.clone() for buffer in step.net.buffers()]
    StreamPass(None, None, update_statistics=update).features(step, LEARNED)
    assert update == any(not torch.equal(*pair) for pair in zip(step.net.buffers(), before, strict=True))
