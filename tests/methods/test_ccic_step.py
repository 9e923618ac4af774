"""What a step of CCIC is made of."""

import pytest
import torch

from casper import split_digits
from casper.methods import CCIC
from casper.methods.ccic_step import CCICStep, joined
from casper.step import Progress
from casper.types import Batch
from few_labels import batch_of, few_labels, ready, recorded, same_images, update
from support import hiding_labels, nine_in_ten, small_trainer


def test_batches_one_after_the_other():
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (5, 1, 2, 2), generator=generator, dtype=torch.uint8)
    labels, inputs = torch.arange(5), torch.rand(5, 1, 2, 2, generator=generator)
    parts = [Batch(images[place], labels[place], inputs[place]) for place in (slice(3), slice(3, 5))]
    whole = joined(*parts)
    assert torch.equal(whole.images, images)
    assert torch.equal(whole.labels, labels)
    assert torch.equal(whole.inputs, inputs)
    assert torch.equal(joined(parts[1]).labels, labels[3:])


def test_every_step_shows_the_last_labelled_and_unlabelled_items():
    trainer = few_labels()
    checked = 0
    for step, shown, (images, labels) in recorded(trainer, 3):
        if not isinstance(step, CCICStep):
            continue
        recent = [(label, image) for _, label, image in shown if label >= 0][-20:]
        assert step.num_recent == len(recent)
        assert same_images(step.labelled.images[: step.num_recent], [image for _, image in recent])
        pairs = {(label, tuple(image.flatten().tolist())) for label, image in recent}
        own = zip(step.labelled.labels[: step.num_recent], step.labelled.images, strict=False)
        assert {(label.item(), tuple(image.flatten().tolist())) for label, image in own} == pairs
        assert torch.equal(step.labelled.inputs, trainer.stream.transform.test(step.labelled.images))
        assert len(step.replays) == bool(len(labels))
        if step.replays:
            assert torch.equal(step.labelled.labels[step.num_recent :], step.replays[0].labels)
            assert torch.equal(step.labelled.inputs[step.num_recent :], step.replays[0].inputs)
        assert (step.labelled.labels >= 0).all()
        if step.domains is not None:
            hidden = [image for task, label, image in shown if label < 0 and task > 0][-20:]
            of_ring = step.domains.labels == 0
            assert same_images(step.domains.images[of_ring], hidden)
            others = images[labels < 2 * step.task.index]
            past = step.domains.images[~of_ring].flatten(1)
            assert len(past.unique(dim=0)) == len(past) == min(20, len(others))
            assert all((others.flatten(1) == image).all(dim=1).any() for image in past)
            assert torch.equal(step.domains.inputs, trainer.stream.transform.test(step.domains.images))
            checked += 1
    assert checked > 20


def test_recent_items_come_in_random_order():
    trainer = ready(1)
    orders = []
    for _ in range(5):
        step = trainer.method.draw(batch_of(trainer, 0, slice(1, 5)), trainer.stream[0], Progress(0, 1, 0))
        orders.append(step.labelled.labels[: step.num_recent].tolist())  # no new label: the same twenty
    assert len(set(map(tuple, orders))) == 5
    assert len({tuple(sorted(order)) for order in orders}) == 1


def test_every_draw_is_shown_afresh():
    trainer = few_labels(stream=hiding_labels(split_digits(), nine_in_ten))
    trainer.run_phase()
    trainer.run_phase()
    step = trainer.method.draw(batch_of(trainer, 1), trainer.stream[1], Progress(0, 1, 0))
    plain = trainer.stream.transform.test
    for batch in (step.labelled, step.domains):
        moved = (batch.inputs != plain(batch.images)).flatten(1).any(dim=1)
        assert moved.float().mean() > 0.5
    three = step.views.unflatten(0, (3, -1))
    assert (three[0] != three[1]).flatten(1).any(dim=1).float().mean() > 0.5


@pytest.mark.parametrize("released", [False, True])
def test_three_views_of_each_unlabelled_item(released):
    trainer = ready(1, method=CCIC(released=released))
    batch = batch_of(trainer, 0)
    step = trainer.method.draw(batch, trainer.stream[0], Progress(0, 1, 0))
    hidden = [trainer.stream.transform.test(image[None])[0] for image in batch.images[batch.labels < 0]]
    expected = [image for image in hidden for _ in range(3)] if released else hidden * 3
    assert torch.equal(step.views, torch.stack(expected))
    assert len(step.mixing.weights) == len(step.labelled) + len(step.views)


@pytest.mark.parametrize(
    ("task", "epoch", "epochs", "contrasting"),
    [
        (0, 0, 10, False),
        (1, 0, 10, True),
        (1, 8, 10, True),
        (1, 9, 10, False),
        (2, 17, 20, True),
        (2, 18, 20, False),
        (1, 0, 1, True),
        (1, 4, 5, True),
        (1, 44, 50, True),
        (1, 45, 50, False),
    ],
)
def test_images_are_mixed_for_triplets_in_the_first_nine_tenths_of_later_tasks(task, epoch, epochs, contrasting):
    trainer = ready(2)
    batch = batch_of(trainer, task)
    step = trainer.method.draw(batch, trainer.stream[task], Progress(epoch, epochs, 0))
    assert (step.triplet_mixing is not None) == contrasting
    assert (step.domains is not None) == contrasting
    if contrasting:
        assert len(step.triplet_mixing.weights) == len(step.labelled)


def test_weights_of_both_mixings():
    trainer, both = ready(1), ([], [])
    for _ in range(60):
        step = trainer.method.draw(batch_of(trainer, 1), trainer.stream[1], Progress(0, 1, 0))
        both[0].append(step.mixing.weights)
        both[1].append(step.triplet_mixing.weights)
    means = [torch.cat(weights).mean().item() for weights in both]
    # E max(l, 1 - l): 3/4 of a uniform l; of Beta(.75, .75) by the integral of its density.
    assert means == pytest.approx([0.7782, 0.75], abs=0.008)


def test_a_batch_without_labels_learns_from_the_memory():
    trainer = ready(2)
    hidden = torch.full((20,), -1)
    step, terms, *_ = update(trainer, batch_of(trainer, 2, labels=hidden), 2)
    assert terms.keys() == {"replay", "unlabelled", "triplet", "domains"}
    assert step.num_recent == 20  # they still count in the triplets
    assert len(step.known) == 0


def test_a_batch_without_hidden_labels_has_no_such_term():
    trainer = small_trainer("ccic", batch_size=20, lr=0.001)
    terms = []
    losses = trainer.method.losses
    trainer.method.losses = lambda *rest: terms.append(losses(*rest)) or terms[-1]
    trainer.run()
    assert {name for each in terms for name in each} == {"labelled", "replay", "triplet"}
    assert len(trainer.method.unlabelled) == 0
