from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from casper import class_split, rotated_digits, split_digits
from casper.methods import XDER
from casper.streams import Transform
from casper.types import Batch, ImageSet, Outputs
from support import one_step, small_trainer, without_augmentation


def literal_cross_entropy(logits, labels, columns):
    losses = []
    for row, label in zip(logits, labels, strict=True):
        losses.append(torch.log(sum(torch.exp(row[column]) for column in columns)) - row[label])
    return sum(losses) / len(losses)


def literal_mean(violations):
    violated = [value for value in violations if value > 0]
    return sum(violated) / len(violated) if violated else torch.tensor(0.0).double()


def test_one_step_literally():
    method = XDER(alpha=0.3, beta=0.8, gamma=0.85, eta=0.4, margin=0.3)
    step = one_step(method)
    net = step.literal_net()
    logits = net(step.inputs(step.images)).logits
    replayed = net(step.inputs(step.memory["images"])).logits
    stored, labels = step.memory["columns"]["logits"].double(), step.memory["labels"]
    past, present, future = range(4), range(4, 6), range(6, 10)

    stream = literal_cross_entropy(logits, step.labels, present)
    matching = sum((replayed[i, c] - stored[i, c]) ** 2 for i in range(16) for c in range(10)) / 160
    naming = literal_cross_entropy(replayed, labels, past)
    over_past, over_future = [], []
    for row in logits:
        total = sum(torch.exp(row[column]) for column in range(6))
        best_past = max(torch.exp(row[column]) / total for column in past).detach()
        over_past.append(best_past + 0.3 - max(torch.exp(row[column]) / total for column in present))
        over_future.append(max(row[column] for column in future) + 0.3 - max(row[column] for column in present))
    for row, label in zip(replayed, labels, strict=True):
        own = (0, 1) if label < 2 else (2, 3)
        over_future.append(max(row[column] for column in future) + 0.3 - max(row[column] for column in own))
    past_term, future_term = literal_mean(over_past), literal_mean(over_future)
    assert 0 < sum(value > 0 for value in over_future) < 30  # some of both

    expected = {
        "stream": stream,
        "logits": 0.3 * matching,
        "labels": 0.8 * naming,
        "past": 0.4 * past_term,
        "future": 0.4 * future_term,
    }
    assert step.terms.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(step.terms[name].double(), value.detach(), rtol=1e-4, atol=1e-6)
    step.assert_gradients(net, sum(expected.values()))

    # All rows were replayed for the first time, so all are transplanted, with the outputs of this very step.
    updated = step.method.memory.columns["logits"].double()
    for row in range(16):
        truth, largest = stored[row, labels[row]], replayed[row, 4:].max()
        scale = 0.85 * truth / largest if largest > truth else 1.0
        torch.testing.assert_close(updated[row, :4], stored[row, :4])
        torch.testing.assert_close(updated[row, 4:], replayed[row, 4:].detach() * scale, rtol=1e-3, atol=1e-4)
    assert step.method.memory.columns["replays"].tolist() == [1] * 16
    assert step.method.diagnostics()["transplants"] == 16


def test_the_first_task_has_two_terms():
    step = one_step(XDER(eta=0.4), task=0)
    net = step.literal_net()
    logits = net(step.inputs(step.images)).logits
    stream = literal_cross_entropy(logits, step.labels, range(2))
    future = literal_mean([row[2:].max() + 0.3 - row[:2].max() for row in logits])
    assert step.terms.keys() == {"stream", "future"}
    torch.testing.assert_close(step.terms["future"].double(), 0.4 * future.detach(), rtol=1e-4, atol=1e-6)
    step.assert_gradients(net, stream + 0.4 * future)


def test_the_last_task_has_no_future():
    step = one_step(XDER(), task=4)
    assert step.terms.keys() == {"stream", "logits", "labels", "past"}


def test_an_item_in_both_draws_counts_once():
    trainer = small_trainer("x-der", buffer_size=20, batch_size=16)
    trainer.run_phase()
    remember = trainer.method.remember

    def watching(step, passes):
        first, second = (set(replay.rows.tolist()) for replay in step.replays)
        assert len(first & second) >= 12  # of 20 rows, 16 in each draw
        columns = trainer.memory.columns
        replays, logits = columns["replays"].clone(), columns["logits"].clone()
        remember(step, passes)
        drawn = [int(row in first | second) for row in range(20)]
        assert (columns["replays"] - replays).tolist() == drawn
        for row in range(20):  # the first replay always updates, with what the first draw's pass said
            if replays[row] == 0 and row in first:
                place = step.replays[0].rows.tolist().index(row)
                expected = passes["replay 1"].logits[place, 2:]
                direction = F.cosine_similarity(columns["logits"][row, 2:], expected, dim=0)
                assert direction.abs() > 0.9999  # scaled as a whole
            if row not in first | second:
                assert torch.equal(columns["logits"][row], logits[row])

    trainer.method.remember = watching
    trainer.run_phase()


def test_the_future_of_an_item_in_both_draws_counts_once():
    step = one_step(XDER(eta=1.0, margin=50.0))  # everything violates
    net = step.literal_net()
    logits = net(step.inputs(step.images)).logits
    replayed = net(step.inputs(step.memory["images"])).logits
    own = [slice(0, 2) if label < 2 else slice(2, 4) for label in step.memory["labels"]]
    violations = [row[6:].max() + 50 - row[4:6].max() for row in logits]
    violations += [row[6:].max() + 50 - row[columns].max() for row, columns in zip(replayed, own, strict=True)]
    assert len(violations) == 30
    torch.testing.assert_close(step.terms["future"].double(), sum(violations).detach() / 30, rtol=1e-4, atol=1e-6)


def test_the_nth_replay_updates_with_probability_one_nth():
    trainer = small_trainer("x-der", buffer_size=20, batch_size=16)
    trainer.run_phase()
    task, method, memory = trainer.stream[1], trainer.method, trainer.memory
    trainer.net.train()
    method.start_task(task)
    changed = {}
    for repeat in range(300):
        replays = memory.columns["replays"].clone()
        before = memory.columns["logits"].clone()
        images, labels = task.train.images[:4], task.train.labels[:4]
        step = method.draw(Batch(images, labels, method.view(images, method.generators["augment"])), task, None)
        with torch.no_grad():
            method.remember(step, method.forward(step))
        for row in range(20):
            now = memory.columns["replays"][row].item()
            if now > replays[row]:
                assert now == replays[row] + 1
                different = not torch.equal(memory.columns["logits"][row], before[row])
                changed.setdefault(now, []).append(different)
        if repeat % 6 == 5:
            memory.update("replays", slice(None), torch.tensor(0))
    for number in range(1, 6):
        rate, times = sum(changed[number]) / len(changed[number]), len(changed[number])
        assert times > 100
        assert rate == pytest.approx(1 / number, abs=4 * (1 / number * (1 - 1 / number) / times) ** 0.5 + 1e-9)


def test_memory_size_and_counts_after_every_task():
    trainer = small_trainer("x-der", stream=split_digits(), buffer_size=53)
    for number in range(5):
        before = {label: trainer.memory.images[trainer.memory.labels == label] for label in range(2 * number)}
        trainer.run_phase()
        quota, counts = 53 // (2 * (number + 1)), trainer.memory.index.counts
        assert len(trainer.memory) == sum(counts.values()) == 53
        for label, images in before.items():  # old classes keep their first rows
            assert counts[label] == min(quota, len(images))
            assert torch.equal(trainer.memory.images[trainer.memory.labels == label], images[:quota])
        free = 53 - sum(counts[label] for label in range(2 * number))
        shares = sorted(counts[label] for label in trainer.stream[number].classes)
        assert shares == [free // 2, free - free // 2]
        assert trainer.memory.columns["replays"].tolist() == [0] * 53
        assert len(trainer.memory.images.flatten(1).unique(dim=0)) == 53  # no image twice
        own = {label: trainer.stream[label // 2].train for label in counts}
        for image, label in zip(trainer.memory.images, trainer.memory.labels.tolist(), strict=True):
            same = (own[label].images == image).flatten(1).all(dim=1)
            assert (own[label].labels[same] == label).all()
            assert same.any()


def test_the_counts_of_split_cifar100():
    """A memory of 500 and ten tasks of ten classes: the fewest and the most rows of a class after each task."""
    labels = torch.arange(100).repeat(50)
    images = torch.randint(256, (5000, 1, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    data = ImageSet(images, labels)
    stream = class_split(data, data, num_tasks=10, transform=Transform((0.5,), (0.25,)))
    trainer = small_trainer("x-der", stream=stream, buffer_size=500, batch_size=64)
    found = []
    for task in stream:
        trainer.method.end_task(task)
        counts = trainer.memory.index.counts
        assert sum(counts.values()) == 500
        found.append((min(counts.values()), max(counts.values())))
    assert found == [(50, 50), (25, 25), (16, 18), (12, 14), (10, 10), (8, 10), (7, 8), (6, 8), (5, 10), (5, 5)]


def test_a_class_with_fewer_images_than_its_share_gives_what_it_has():
    trainer = small_trainer("x-der", stream=split_digits()[:2], buffer_size=400)
    trainer.run_phase()
    assert len(trainer.memory) == len(trainer.stream[0].train)
    trainer.run_phase()
    assert len(trainer.memory) == 400


def test_end_of_task_logits_literally():
    """New rows store the logits of their batch, with past columns transplanted. Old rows are updated again."""
    trainer = small_trainer(XDER(gamma=0.85), stream=without_augmentation(split_digits()), buffer_size=30)
    trainer.run_phase()
    task, method, memory = trainer.stream[1], trainer.method, trainer.memory
    trainer.run_phase()  # ends with a call of end_task; make another, on a memory as before it
    memory.keep(memory.index.first_slots(5)[:10])  # the old classes' rows
    old_images, old_logits = memory.images.clone(), memory.columns["logits"].clone()
    statistics = {name: value.clone() for name, value in trainer.net.named_buffers()}
    passes = []
    hook = trainer.net.register_forward_hook(lambda _, inputs, output: passes.append((inputs[0], output.logits)))
    method.end_task(task)
    hook.remove()
    assert all(torch.equal(value, statistics[name]) for name, value in trainer.net.named_buffers())
    assert trainer.net.training
    assert memory.index.counts == {0: 5, 1: 5, 2: 10, 3: 10}

    def answers(image):
        normal = trainer.stream.transform.test(image[None])[0]
        return [
            logits[place] for inputs, logits in passes for place in (inputs == normal).flatten(1).all(dim=1).nonzero()
        ]

    for row in range(30):
        stored, label = memory.columns["logits"][row], memory.labels[row].item()
        found = []
        for answer in answers(memory.images[row]):
            answer = answer.squeeze(0)
            if label >= 2:
                start, columns = answer.clone(), slice(0, 2)
            else:
                place = (old_images == memory.images[row]).flatten(1).all(dim=1).nonzero().item()
                start, columns = old_logits[place].clone(), slice(2, 10)
            truth, largest = start[label].item(), answer[columns].max().item()
            scale = 0.85 * truth / largest if largest > truth else 1.0
            start[columns] = answer[columns] * scale
            found.append(start)
        assert any(torch.allclose(stored, candidate, atol=1e-5) for candidate in found)
    # 20 new rows come from batches of the whole task; all 30 rows are passed again in mixed batches.
    assert sum(len(inputs) for inputs, _ in passes[-2:]) == 30
    assert len(passes[-2][0]) == 16


def test_the_refresh_mixes_all_rows():
    trainer = small_trainer("x-der", stream=without_augmentation(split_digits()), buffer_size=64, batch_size=16)
    trainer.run_phase()
    passes = []
    hook = trainer.net.register_forward_hook(lambda _, inputs, output: passes.append(inputs[0]))
    observed = trainer.method.observe
    trainer.method.observe = lambda *rest: (passes.clear(), observed(*rest), passes.clear())[1]
    evaluate = trainer.method.end_task
    trainer.method.end_task = lambda task: (passes.clear(), evaluate(task), hook.remove())
    trainer.run_phase()
    order = [trainer.stream.transform.test(image[None])[0] for image in trainer.memory.images]
    places = [
        next(place for place, known in enumerate(order) if torch.equal(known, image))
        for inputs in passes[-4:]
        for image in inputs
    ]
    assert sorted(places) == list(range(64))
    assert places != list(range(64))


def test_transplants_by_non_positive_logits_are_counted():
    step = one_step(XDER(), task=2)
    method, memory = step.method, step.method.memory
    memory.update("logits", slice(None), torch.full((16, 10), -5.0))
    memory.update("replays", slice(None), torch.tensor(0))
    method.start_task(step.task)
    inputs = method.view(step.images, method.generators["augment"])
    drawn = method.draw(Batch(step.images, step.labels, inputs), step.task, None)
    method.remember(drawn, method.forward(drawn))
    counts = method.diagnostics()
    assert counts["transplants"] == 16
    assert counts["transplants_scaled_by_a_non_positive_logit"] == 16
    other = small_trainer("x-der").method
    other.load_state_dict(method.state_dict())
    assert other.diagnostics() == counts


def test_refusals():
    with pytest.raises(ValueError, match="class-incremental for"):
        small_trainer("x-der", stream=rotated_digits())
    with pytest.raises(ValueError, match=r"`buffer_size` must be at least 4, one per class, but got 3"):
        small_trainer("x-der", buffer_size=3)
    for name in ("alpha", "beta", "gamma", "eta"):
        with pytest.raises(ValueError, match=f"`{name}` must be a finite number, at least 0"):
            XDER(**{name: -0.1})
    with pytest.raises(ValueError, match="`margin` must be a finite number"):
        XDER(margin=float("nan"))
    with pytest.raises(ValueError, match=r"`stream` must be a stream of at least 2 classes for XDER, but got 1"):
        small_trainer("x-der", stream=replace(split_digits()[:1], num_classes=1))


def test_only_marked_rows_are_counted():
    method, rows = small_trainer("x-der").method, torch.tensor([True, False, False])
    current, labels = torch.ones(3, 10), torch.tensor([0, 0, 0])
    method._transplanted(-torch.ones(3, 10), current, labels, torch.arange(10) > 3, rows)
    assert [*method.diagnostics().values()] == [1, 1]


def test_the_end_of_a_task_counts_its_transplants_once_each():
    trainer = small_trainer("x-der", buffer_size=20)
    trainer.run_phase()
    method = trainer.method
    assert method.diagnostics()["transplants"] == 0  # nothing is past
    trainer.net.train()
    method.start_task(trainer.stream[1])
    method.end_task(trainer.stream[1])
    assert method.diagnostics()["transplants"] == 20  # 10 new rows' past columns, 10 old rows' others


def test_choices_come_from_the_memorys_generator_and_views_from_that_of_augmentation():
    trainer = small_trainer("x-der", buffer_size=20)
    trainer.run_phase()
    method, task, shown = trainer.method, trainer.stream[1], []
    view = method.view
    method.view = lambda images, generator: shown.append((len(images), generator)) or view(images, generator)
    trainer.net.train()
    images, labels = task.train.images[:8], task.train.labels[:8]
    step = method.draw(Batch(images, labels, trainer.stream.transform.test(images)), task, None)
    passes = method.forward(step)
    before = {name: generator.get_state() for name, generator in method.generators.items()}
    method.remember(step, passes)
    moved = [name for name, one in method.generators.items() if not torch.equal(one.get_state(), before[name])]
    assert moved == ["memory"]
    shown.clear()
    method.end_task(task)
    assert all(generator is method.generators["augment"] for _, generator in shown)
    assert [size for size, _ in shown[-2:]] == [16, 4]  # the refresh; before it, the batches that new rows come from
    assert len(shown) > 2


def test_new_rows_come_in_random_order():
    trainer = small_trainer("x-der", stream=split_digits()[:1], buffer_size=20)
    trainer.run_phase()
    data = trainer.stream[0].train
    for label in (0, 1):
        first = data.images[data.labels == label][:10]
        assert not torch.equal(trainer.memory.images[trainer.memory.labels == label], first)


@pytest.mark.parametrize("name", ["der++", "x-der"])
def test_the_first_draw_matches_logits_and_the_second_labels(name):
    trainer = small_trainer(name, buffer_size=40)
    trainer.run_phase()
    method, task = trainer.method, trainer.stream[1]
    trainer.net.train()
    images, labels = task.train.images[:8], task.train.labels[:8]
    step = method.draw(Batch(images, labels, trainer.stream.transform.test(images)), task, None)
    passes = {key: Outputs(value.features, value.logits.detach()) for key, value in method.forward(step).items()}
    draws = [passes["replay 1"].logits.requires_grad_(), passes["replay 2"].logits.requires_grad_()]
    terms = method.losses(step, passes)
    for term, (reached, untouched) in {"logits": draws, "labels": draws[::-1]}.items():
        gradients = torch.autograd.grad(terms[term], [reached, untouched], allow_unused=True)
        assert (gradients[0] != 0).any()
        assert gradients[1] is None
