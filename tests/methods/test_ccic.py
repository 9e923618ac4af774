"""The parts of a CCIC step."""

from copy import deepcopy

import pytest
import torch
from torch.optim import Adam

from casper import rotated_digits, split_digits
from casper.methods import CCIC
from casper.methods.ccic import CCICStep, joined
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


def test_every_draw_is_augmented_again():
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


# Every term, computed again with loops


def literal_softmax(row):
    powers = [value.exp() for value in row]
    return [power / sum(powers) for power in powers]


def literal_mix(mixing, rows):
    mixed = []
    for item in range(len(rows)):
        weight, partner = mixing.weights[item].item(), mixing.partners[item].item()
        mixed.append(weight * rows[item] + (1 - weight) * rows[partner])
    return torch.stack(mixed)


def literal_cross_entropy(logits, targets):
    losses = []
    for row, target in zip(logits, targets, strict=True):
        normal = torch.log(sum(value.exp() for value in row))
        losses.append(sum(share * (normal - value) for share, value in zip(target, row, strict=True)))
    return sum(losses) / len(losses)


def literal_triplets(features, labels, k, pull):
    terms = []
    for anchor in range(len(features)):
        distances = [((features[anchor] - other) ** 2).sum() for other in features]
        same = [label == labels[anchor] for label in labels]
        far = sorted((d * one for d, one in zip(distances, same, strict=True)), reverse=True)[:k]
        near = sorted(d for d, one in zip(distances, same, strict=True) if not one)[:k]
        terms += [((far[rank] if pull else 0) - d + 1).relu() for rank, d in enumerate(near)]
    return sum(terms) / len(terms)


def literal_targets(net, step, released):
    """One target for each of the three views of each unlabelled image."""
    views, number = step.views.double(), len(step.views) // 3
    with torch.no_grad():
        answers = deepcopy(net).eval()(views).logits
    guesses = []
    for item in range(number):
        if released:
            own = [answers[item + view * number] for view in range(3)]  # three in a row are of one image: these are not
        else:
            own = [torch.stack(literal_softmax(answers[item + view * number])) for view in range(3)]
        squares = [value**2 for value in sum(own) / 3]
        guesses.append(torch.stack([square / sum(squares) for square in squares]))
    return torch.stack(guesses * 3)


def literal_terms(step, before, *, released=False, alpha=0.7, unlabelled_weight=0.3, memory_penalty=0.6):
    net = deepcopy(before).double().train()
    inputs, labels = step.labelled.inputs.double(), step.labelled.labels.tolist()
    one_hot = torch.eye(10, dtype=torch.float64)[labels]
    guesses = literal_targets(net, step, released)
    mixed = literal_mix(step.mixing, torch.cat([inputs, step.views.double()]))
    targets = torch.cat([one_hot, guesses])
    targets = targets if released else literal_mix(step.mixing, targets)
    targets, guesses = targets[: len(inputs)], targets[len(inputs) :]
    n, recent = len(inputs), step.num_recent
    logits = net(mixed[:n]).logits
    answers = net(mixed[n:]).logits
    if not released:
        answers = torch.stack([torch.stack(literal_softmax(row)) for row in answers])
    squares = sum((answers[i, c] - guesses[i, c]) ** 2 for i in range(len(answers)) for c in range(10))
    terms = {
        "labelled": literal_cross_entropy(logits[:recent], targets[:recent]),
        "replay": memory_penalty * literal_cross_entropy(logits[recent:], targets[recent:]),
        "unlabelled": unlabelled_weight * squares / (10 * len(answers)) / (10 if released else 1),
    }
    images = inputs if step.triplet_mixing is None else literal_mix(step.triplet_mixing, inputs)
    terms["triplet"] = literal_triplets(net(images).features, labels, 2, pull=True)
    if step.domains is not None:
        features = net(step.domains.inputs.double()).features
        terms["domains"] = alpha * literal_triplets(features, step.domains.labels.tolist(), 2, pull=False)
    return net, terms


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize(("task", "epoch"), [(0, 0), (2, 0), (2, 9)])
def test_one_step_literally(released, task, epoch):
    method = CCIC(alpha=0.7, unlabelled_weight=0.3, memory_penalty=0.6, released=released)
    trainer = ready(task, method=method)
    if task == 0:  # so that there is something to replay
        update(trainer, batch_of(trainer, 0), 0)
    batch = batch_of(trainer, task, slice(20, 40))
    step, terms, before, gradients = update(trainer, batch, task, Progress(epoch, 10, 0))
    net, expected = literal_terms(step, before, released=released)
    assert ("domains" in terms) == (task == 2 and epoch == 0)
    assert terms.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(terms[name].double(), value.detach(), rtol=1e-4, atol=1e-6)
        assert value > 0
    sum(expected.values()).backward()
    for name, parameter in net.named_parameters():
        expected_gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        torch.testing.assert_close(gradients[name].double(), expected_gradient, rtol=2e-3, atol=2e-5)


# Prediction and the rest


def test_prediction_is_a_vote_of_the_memory():
    trainer = ready(2, buffer_size=40)
    trainer.net.eval()
    test, memory = trainer.stream[1].test, trainer.memory
    scores = trainer.method.predict(test.images)
    with torch.no_grad():
        view = trainer.stream.transform.test
        features, support = (trainer.net(view(images)).features.double() for images in (test.images, memory.images))
    for row, feature in zip(scores, features, strict=True):
        distances = [(feature / feature.norm() - other / other.norm()).square().sum().item() for other in support]
        voters = sorted(range(40), key=lambda item: distances[item])[:3]
        for label in range(4):
            votes = sum(memory.labels[voter].item() == label for voter in voters)
            nearest = min(distances[item] for item in range(40) if memory.labels[item] == label)
            assert row[label].item() == pytest.approx(votes - 1e-5 * nearest, abs=1e-9)
        assert row[4:].isneginf().all()


def test_one_neighbour_alone():
    trainer = ready(1, method=CCIC(num_neighbors=1))
    scores = trainer.method.predict(trainer.stream[0].test.images)
    assert set(scores[:, :2].round().sum(dim=1).tolist()) == {1}


def test_features_of_the_memory_are_those_of_the_network_as_it_is():
    trainer, other = ready(1), ready(1, seed=8)
    method, images = trainer.method, trainer.stream[0].test.images
    before = method.predict(images)
    twin = method.with_net(other.net).predict(images)
    assert torch.equal(method.predict(images), before)
    other.memory.load_state_dict(trainer.memory.state_dict())
    other.method._support = None  # of the memory before
    assert torch.equal(twin, other.method.predict(images))
    update(trainer, batch_of(trainer, 0), 0)
    after = method.predict(images)
    assert not torch.equal(after, before)
    assert torch.equal(method.with_net(trainer.net).predict(images), after)


def test_an_untrained_memory_scores_nothing():
    trainer = few_labels()
    assert trainer.method.predict(trainer.stream[0].test.images).isneginf().all()


def test_views_are_answered_in_evaluation_mode():
    trainer = ready(1)
    modes = []
    trainer.net.register_forward_hook(lambda net, *_: modes.append((net.training, torch.is_grad_enabled())))
    update(trainer, batch_of(trainer, 1), 1)
    assert modes == [(False, False)] + [(True, True)] * 4


def test_draws_come_from_the_methods_generators():
    trainer = ready(1)
    before = {name: generator.get_state() for name, generator in trainer.generators.items()}
    everyone = torch.get_rng_state()
    trainer.method.draw(batch_of(trainer, 1), trainer.stream[1], Progress(0, 1, 0))
    moved = [name for name, one in trainer.generators.items() if not torch.equal(one.get_state(), before[name])]
    assert moved == ["augment", "replay"]
    assert torch.equal(torch.get_rng_state(), everyone)


def test_adam_for_class_streams_only():
    trainer = few_labels()
    optimizer = trainer.make_optimizer()
    assert isinstance(optimizer, Adam)
    assert optimizer.param_groups[0]["lr"] == 0.001
    assert CCIC.takes_unlabelled
    with pytest.raises(ValueError, match="class-incremental for"):
        small_trainer("ccic", stream=rotated_digits())


def test_refusals():
    for name in ("alpha", "unlabelled_weight", "memory_penalty"):
        with pytest.raises(ValueError, match=f"`{name}` must be a finite number, at least 0"):
            CCIC(**{name: -0.1})
    with pytest.raises(ValueError, match=r"`num_neighbors` must be at least 1, but got 0"):
        CCIC(num_neighbors=0)


def test_the_defaults_are_the_authors():
    method = CCIC()
    weights = method.alpha, method.unlabelled_weight, method.memory_penalty, method.num_neighbors, method.released
    assert weights == (0.5, 0.5, 1.0, 3, False)
