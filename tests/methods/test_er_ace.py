from copy import deepcopy
from dataclasses import replace

import torch
import torch.nn.functional as F

from casper import split_digits
from casper.losses import asymmetric_cross_entropy
from casper.memory import balanced_reservoir
from casper.step import Progress
from casper.streams import hide_labels
from casper.types import Batch, ImageSet
from support import assert_same_state, memory_filled_by, one_step, small_trainer


def recorded_steps(trainer):
    steps = []
    losses = trainer.method.losses

    def recording(step, passes):
        terms = losses(step, passes)
        steps.append((step, passes, terms, trainer.method.highest_seen.clone()))
        return terms

    trainer.method.losses = recording
    trainer.run()
    return steps


def test_first_task_is_plain_cross_entropy_without_replay():
    steps = [entry for entry in recorded_steps(small_trainer("er-ace")) if entry[0].task.index == 0]
    for step, passes, terms, _ in steps:
        assert set(passes) == {"stream"}
        assert set(terms) == {"stream"}
        assert terms["stream"].item() == F.cross_entropy(passes["stream"].logits, step.stream.labels).item()


def test_later_tasks_mask_the_stream_and_replay_over_all_classes():
    steps = [entry for entry in recorded_steps(small_trainer("er-ace")) if entry[0].task.index == 1]
    for step, passes, terms, highest_seen in steps:
        stream, replay = passes["stream"].logits, passes["replay"].logits
        expected = asymmetric_cross_entropy(stream, step.stream.labels, highest_seen)
        assert terms["stream"].item() == expected.item()
        assert terms["replay"].item() == F.cross_entropy(replay, step.replays[0].labels).item()


def test_the_mask_starts_at_the_highest_label_of_all_batches_so_far_this_one_included():
    highest = -1
    # Five classes in a task and three items in a batch: most batches do not hold the highest label.
    trainer = small_trainer("er-ace", stream=split_digits(num_tasks=2), batch_size=3)
    for step, passes, terms, _ in recorded_steps(trainer):
        labels = step.stream.labels
        highest = max(highest, labels.max().item())
        if step.task.index == 1:
            expected = asymmetric_cross_entropy(passes["stream"].logits, labels, torch.tensor(highest))
            assert terms["stream"].item() == expected.item()


def test_memory_is_balanced_over_the_whole_stream():
    trainer = small_trainer("er-ace", stream=split_digits(), buffer_size=50, epochs=2)
    trainer.run()
    counts = trainer.memory.labels.bincount(minlength=10)
    assert counts.sum() == 50
    assert counts.min() >= 4
    assert counts.max() <= 6


def test_forgets_less_than_finetuning():
    plain, rehearsed = (small_trainer(name, epochs=4).run()["class_il"] for name in ("finetune", "er-ace"))
    assert rehearsed["final_average_accuracy"] > plain["final_average_accuracy"] + 20


def test_a_stream_batch_is_stored_after_its_own_replay_draw():
    for step, _, _, _ in recorded_steps(small_trainer("er-ace")):
        for replay in step.replays:
            assert replay.rows.unique().numel() == len(replay.rows)


def test_state_round_trip():
    trainer = small_trainer("er-ace")
    trainer.run()
    other = small_trainer("er-ace").method
    other.load_state_dict(trainer.method.state_dict())
    assert torch.equal(other.highest_seen, torch.tensor(3))


def test_the_memory_is_what_its_policy_makes_of_the_stream():
    trainer = small_trainer("er-ace", buffer_size=30)
    expected = memory_filled_by(balanced_reservoir, trainer)
    assert_same_state(trainer.memory.state_dict(), expected.state_dict())


def test_one_step_literally():
    step = one_step("er-ace")
    net = step.literal_net()
    logits = net(step.inputs(step.images)).logits
    replayed = net(step.inputs(step.memory["images"])).logits
    assert set(step.labels.tolist()) == {4, 5}
    kept = range(4, 10)  # the classes of the batch, and those from the highest label seen on
    stream = [torch.log(sum(row[c].exp() for c in kept)) - row[y] for row, y in zip(logits, step.labels, strict=True)]
    pairs = zip(replayed, step.memory["labels"], strict=True)
    replay = [torch.log(sum(row[c].exp() for c in range(10))) - row[y] for row, y in pairs]
    expected = {"stream": sum(stream) / 14, "replay": sum(replay) / 16}
    assert step.terms.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(step.terms[name].double(), value.detach(), rtol=1e-4, atol=1e-6)
    step.assert_gradients(net, sum(expected.values()))


def few_labels(**changes):
    """A trainer on a stream with six labels of each class; each image carries its place in its first two pixels."""
    stream = split_digits()[:2]

    def marked(task):
        images = task.train.images.clone()
        places = torch.arange(len(images))
        images[:, 0, 0, 0], images[:, 0, 0, 1] = places % 256, places // 256
        return ImageSet(images, task.train.labels)

    def make(number):
        task = stream.make_task(number)
        return replace(task, make_train=lambda: marked(task))

    hidden = hide_labels(replace(stream, make_task=make), per_class=6)
    return small_trainer("er-ace", stream=hidden, **{"buffer_size": 100, "batch_size": 4, **changes})


def test_no_hidden_label_reaches_loss_or_memory():
    trainer = few_labels()
    steps = recorded_steps(trainer)
    for step, passes, terms, _ in steps:
        shown = step.stream.labels >= 0
        assert torch.equal(step.known.images, step.stream.images[shown])
        assert (step.known.labels >= 0).all()
        assert ("stream" in terms) == bool(shown.any())
        if terms:
            assert len(passes["stream"].logits) == shown.sum()
    known = {
        (task.index, place, label)
        for task in trainer.stream
        for place, label in enumerate(task.train.labels.tolist())
        if label >= 0
    }
    pixels, labels = trainer.memory.images[:, 0, 0].long(), trainer.memory.labels.tolist()
    places = (pixels[:, 0] + 256 * pixels[:, 1]).tolist()
    assert {(label // 2, place, label) for place, label in zip(places, labels, strict=True)} == known
    assert len(known) == trainer.memory.seen == 24


def test_a_step_without_a_label_changes_nothing_and_draws_nothing():
    trainer = few_labels()
    trainer.run_phase()
    task = trainer.stream[1]
    rows = (task.train.labels < 0).nonzero().flatten()[:4]
    part = task.train[rows]
    before = trainer.state_dict()
    before = {name: deepcopy(before[name]) for name in ("net", "memory", "method", "generators")}
    batch = Batch(part.images, part.labels, trainer.stream.transform.test(part.images))
    assert trainer.method.observe(batch, task, Progress(0, 1, 0), trainer.optimizer) == {}
    after = trainer.state_dict()
    assert_same_state({name: after[name] for name in before}, before)
