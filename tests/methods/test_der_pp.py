import pytest
import torch

from casper import split_digits
from casper.memory import balanced_reservoir
from casper.methods import DERpp
from support import memory_filled_by, one_step, small_trainer


def test_one_step_literally():
    step = one_step(DERpp(alpha=0.3, beta=0.8))
    net = step.literal_net()
    logits = net(step.inputs(step.images)).logits
    replayed = net(step.inputs(step.memory["images"])).logits
    stored, labels = step.memory["columns"]["logits"].double(), step.memory["labels"]

    stream = sum(row.exp().sum().log() - row[label] for row, label in zip(logits, step.labels, strict=True)) / 14
    matching = 0
    for row in range(16):
        for column in range(10):
            matching = matching + (replayed[row, column] - stored[row, column]) ** 2
    matching = matching / (16 * 10)
    naming = sum(row.exp().sum().log() - row[label] for row, label in zip(replayed, labels, strict=True)) / 16

    torch.testing.assert_close(step.terms["stream"].double(), stream, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(step.terms["logits"].double(), 0.3 * matching, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(step.terms["labels"].double(), 0.8 * naming, rtol=1e-4, atol=1e-6)
    step.assert_gradients(net, stream + 0.3 * matching + 0.8 * naming)


def recorded(trainer):
    """Every step with its passes, and the memory as it was when the step was drawn."""
    steps = []
    losses = trainer.method.losses

    def recording(step, passes):
        steps.append((step, passes, len(trainer.memory)))
        return losses(step, passes)

    trainer.method.losses = recording
    trainer.run()
    return steps


def test_replay_starts_with_the_second_step():
    steps = recorded(small_trainer("der++"))
    assert [len(step.replays) for step, _, _ in steps[:3]] == [0, 2, 2]
    assert set(steps[1][1]) == {"stream", "replay 1", "replay 2"}


def test_the_two_draws_are_independent():
    steps = recorded(small_trainer("der++", buffer_size=100, batch_size=16))
    pairs = [step.replays for step, _, filled in steps if filled == 100]
    assert len(pairs) > 20
    shared = [torch.isin(first.rows, second.rows).float().mean().item() for first, second in pairs]
    assert sum(shared) / len(shared) == pytest.approx(0.16, abs=0.04)
    assert all(first.rows.unique().numel() == 16 for first, _ in pairs)


def test_stored_logits_are_those_of_the_items_own_step():
    trainer = small_trainer("der++", buffer_size=30)
    answers = {}
    for step, passes, _ in recorded(trainer):
        for image, logits in zip(step.stream.images, passes["stream"].logits.detach(), strict=True):
            answers.setdefault(bytes(image.flatten().tolist()), []).append(logits)
    stored = trainer.memory.columns["logits"]
    assert len(stored) == 30
    for image, logits in zip(trainer.memory.images, stored, strict=True):
        assert any(torch.equal(logits, answer) for answer in answers[bytes(image.flatten().tolist())])


def test_replayed_items_come_with_their_own_logits():
    trainer = small_trainer("der++")
    losses, compared = trainer.method.losses, []

    def comparing(step, passes):
        for replay in step.replays:  # the memory is as it was when they were drawn
            compared.append(torch.equal(replay.columns["logits"], trainer.memory.columns["logits"][replay.rows]))
            assert torch.equal(replay.images, trainer.memory.images[replay.rows])
        return losses(step, passes)

    trainer.method.losses = comparing
    trainer.run()
    assert len(compared) > 20
    assert all(compared)


def test_the_memory_is_what_its_policy_makes_of_the_stream():
    trainer = small_trainer("der++", buffer_size=30)
    expected = memory_filled_by(balanced_reservoir, trainer)
    assert torch.equal(trainer.memory.images, expected.images)
    assert torch.equal(trainer.memory.labels, expected.labels)


def test_memory_size_and_counts_after_every_task():
    trainer = small_trainer("der++", stream=split_digits(), buffer_size=50, epochs=2)
    for number in range(5):
        trainer.run_phase()
        counts = trainer.memory.labels.bincount(minlength=10)[: 2 * (number + 1)]
        assert counts.sum() == len(trainer.memory) == 50
        assert counts.max() - counts.min() <= 6 - number // 2


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_negative_weights_are_refused(name):
    with pytest.raises(ValueError, match=f"`{name}` must be a finite number, at least 0"):
        DERpp(**{name: -0.1})
