import math

import pytest
import torch

from casper import rotated_digits, split_digits
from casper.losses import supervised_contrastive
from casper.memory import balanced_reservoir
from casper.methods import SCR
from casper.nets import ProjectionHead, evaluating
from casper.streams import strong_view
from casper.training import StepDone, recalibrated_statistics, with_statistics
from support import assert_same_state, memory_filled_by, one_step, regularizer, small_trainer


def recorded_steps(trainer):
    """Run, and keep of every step what it saw, passed and computed, and the augmentation's generator before it."""
    steps = []
    forward, losses = trainer.method.forward, trainer.method.losses

    def recording_forward(step):
        steps.append({"step": step, "state": trainer.generators["augment"].get_state()})
        steps[-1]["passes"] = forward(step)
        return steps[-1]["passes"]

    def recording_losses(step, passes):
        steps[-1]["terms"] = losses(step, passes)
        return steps[-1]["terms"]

    trainer.method.forward, trainer.method.losses = recording_forward, recording_losses
    trainer.run()
    return steps


def test_the_first_step_only_fills_the_memory():
    told = []

    def listen(event):
        if isinstance(event, StepDone) and not told:
            network = {name: value.clone() for name, value in trainer.net.state_dict().items()}
            told.append((event.terms, len(trainer.memory), network))

    trainer = small_trainer("scr", listeners=[listen])
    before = {name: value.clone() for name, value in trainer.net.state_dict().items()}
    first, *later = recorded_steps(trainer)
    assert (first["passes"], first["terms"]) == ({}, {})
    terms, stored, after = told[0]
    assert (terms, stored) == ({}, 16)
    assert_same_state(before, after)  # BatchNorm's statistics too
    assert all(entry["terms"].keys() == {"contrast"} for entry in later)


def test_both_views_of_stream_and_replay_in_one_loss():
    trainer = small_trainer(SCR(temperature=0.3))
    for entry in recorded_steps(trainer)[1:]:
        step, passes = entry["step"], entry["passes"]
        (replay,) = step.replays
        labels = torch.cat([step.stream.labels, replay.labels])
        assert len(replay) == 16
        assert passes.keys() == {"joined", "augmented"}
        views = torch.stack([passes["joined"].logits, passes["augmented"].logits], dim=1)
        assert views.shape == (len(labels), 2, 128)
        assert entry["terms"]["contrast"].item() == supervised_contrastive(views, labels, 0.3).item()


def test_the_first_view_is_the_image_and_the_second_strongly_augmented():
    trainer = small_trainer("scr")
    passed = []
    trainer.net.register_forward_pre_hook(lambda _, inputs: passed.append(inputs[0]) if trainer.net.training else None)
    for number, entry in enumerate(recorded_steps(trainer)[1:]):
        step = entry["step"]
        images = torch.cat([step.stream.images, step.replays[0].images])
        joined, augmented = passed[2 * number : 2 * number + 2]
        torch.testing.assert_close(joined, images.float() / 255)
        source = torch.Generator()
        source.set_state(entry["state"])
        assert torch.equal(augmented, strong_view(joined, source))
    assert len(passed) == 2 * (number + 1)


def test_one_step_literally(monkeypatch):
    # The second view is the first one, mirrored: what is drawn is tested elsewhere.
    monkeypatch.setattr("casper.methods.scr.strong_view", lambda images, _: images.flip(3))
    step = one_step(SCR(temperature=0.5))
    net = step.literal_net()
    inputs = torch.cat([step.images, step.memory["images"]]).double() / 255
    labels = torch.cat([step.labels, step.memory["labels"]]).tolist() * 2
    head = net.head
    projections = []
    for view in (inputs, inputs.flip(3)):
        hidden = (net.backbone(view)[0] @ head.hidden.weight.T + head.hidden.bias).clamp(min=0)
        output = hidden @ head.output.weight.T + head.output.bias
        projections.append(output / output.norm(dim=1, keepdim=True))
    z = torch.cat(projections)
    losses = []
    for i in range(len(z)):
        others = [j for j in range(len(z)) if j != i]
        total = sum((z[i] @ z[j] / 0.5).exp() for j in others)
        same = [j for j in others if labels[j] == labels[i]]
        losses.append(-sum(z[i] @ z[j] / 0.5 - total.log() for j in same) / len(same))
    loss = sum(losses) / len(losses)
    assert len(losses) == 2 * (14 + 16)
    assert step.terms.keys() == {"contrast"}
    torch.testing.assert_close(step.terms["contrast"].double(), loss.detach(), rtol=1e-4, atol=1e-6)
    step.assert_gradients(net, loss)


def test_prediction_literally():
    trainer = small_trainer("scr")
    trainer.run()
    memory, images = trainer.memory, trainer.stream[1].test.images
    with evaluating(trainer.net):
        stored, found = (trainer.net.backbone(x.float() / 255)[0] for x in (memory.images, images))
    scores = trainer.method.predict(images)
    assert scores.shape == (len(images), 10)
    assert scores[:, 4:].isneginf().all()
    for label in range(4):
        rows = [row / row.norm() for row, its in zip(stored, memory.labels, strict=True) if its == label]
        mean = sum(rows) / len(rows)
        mean = mean / mean.norm()
        expected = torch.stack([-((row / row.norm() - mean) ** 2).sum() for row in found])
        torch.testing.assert_close(scores[:, label], expected, rtol=1e-4, atol=1e-5)


def test_an_untrained_method_has_no_score():
    metrics = small_trainer("scr").run()["class_il"]
    assert metrics["untrained_accuracy"] == [None, None]
    assert metrics["forward_transfer"] is None


def test_the_head_projects_to_the_sphere():
    trainer = small_trainer("scr")
    assert isinstance(trainer.net.head, ProjectionHead)
    assert trainer.net.head.hidden.weight.shape == (trainer.net.backbone.dim,) * 2
    logits = trainer.net(torch.rand(3, 1, 8, 8)).logits
    assert logits.shape == (3, 128)
    torch.testing.assert_close(logits.norm(dim=1), torch.ones(3))


def test_regularizers_and_recalibration_use_the_same_transform():
    part = regularizer("casper")
    trainer = small_trainer("scr", [part], recalibrate=True)
    seen = []
    loss = part.loss

    def recording(step, *rest):
        hook = step.net.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        term = loss(step, *rest)
        hook.remove()
        return term

    part.loss = recording
    trainer.run()
    levels = torch.arange(256).float() / 255
    assert len(seen) > 10
    for inputs in seen:
        torch.testing.assert_close(inputs, levels[(inputs * 255).round().long()], rtol=0, atol=1e-6)
    copy = with_statistics(trainer.method, recalibrated_statistics(trainer.method, 0, 20))
    first = trainer.net.backbone.stages[0][0](trainer.memory.images.float() / 255).mean((0, 2, 3))
    found = copy.net.backbone.stages[0][1].running_mean
    torch.testing.assert_close(found, first, rtol=0.05, atol=0.05)


def test_the_memory_is_what_its_policy_makes_of_the_stream():
    trainer = small_trainer("scr", buffer_size=30)
    expected = memory_filled_by(balanced_reservoir, trainer)
    assert_same_state(trainer.memory.state_dict(), expected.state_dict())


def test_a_stream_batch_is_stored_after_its_own_replay_draw():
    for number, entry in enumerate(recorded_steps(small_trainer("scr", buffer_size=400))):
        assert [len(replay) for replay in entry["step"].replays] == ([16] if number else [])
        for replay in entry["step"].replays:
            assert replay.rows.max() < 16 * number


def test_a_step_makes_the_class_means_obsolete():
    trainer = small_trainer("scr")
    means = []
    losses = trainer.method.losses

    def recording(step, passes):
        means.append(trainer.method.state_dict()["means"])
        return losses(step, passes)

    trainer.run_phase()
    assert trainer.method.state_dict()["means"] is not None
    trainer.method.losses = recording
    trainer.run_phase()
    assert means[0] is not None
    assert means[1:] == [None] * (len(means) - 1)
    assert trainer.method.state_dict()["means"] is not None


def test_forgets_less_than_finetuning():
    plain, rehearsed = (small_trainer(name, epochs=4).run()["class_il"] for name in ("finetune", "scr"))
    assert rehearsed["final_average_accuracy"] > plain["final_average_accuracy"] + 20


def test_the_loss_falls():
    steps = recorded_steps(small_trainer("scr", stream=split_digits()[:1], epochs=6))
    terms = [entry["terms"]["contrast"].item() for entry in steps[1:]]
    tail = sum(terms[-8:]) / 8
    assert all(math.isfinite(term) for term in terms)
    assert tail < sum(terms[:8]) / 8 - 0.2


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.inf, math.nan])
def test_an_invalid_temperature_is_refused(temperature):
    with pytest.raises(ValueError, match="`temperature` must be a positive finite number"):
        SCR(temperature=temperature)


def test_domain_streams_and_a_memory_too_small_are_refused():
    with pytest.raises(ValueError, match="class-incremental for SCR"):
        small_trainer("scr", stream=rotated_digits())
    with pytest.raises(ValueError, match=r"`buffer_size` must be at least 4, one per class, but got 3"):
        small_trainer("scr", buffer_size=3)
