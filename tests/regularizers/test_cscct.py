import pytest
import torch

from casper import rotated_digits, split_digits
from casper.losses import controlled_transfer, cross_space_clustering
from casper.nets import snapshot, untouched_statistics
from casper.regularizers import CSCCT
from casper.step import Progress
from casper.types import Batch
from support import small_trainer


def after_a_task(method, part, **changes):
    """A trainer that has learned one task, and a step of the second."""
    trainer = small_trainer(method, [part], **changes)
    trainer.run_phase()
    return trainer, step_of(trainer)


def step_of(trainer):
    task = trainer.stream[1]
    images = task.train[torch.arange(16)]
    batch = Batch(images.images, images.labels, trainer.stream.transform.test(images.images))
    return trainer.method.draw(batch, task, Progress(0, 1, 0))


def loss(part, step):
    return part.loss(step, {"stream": None}, torch.Generator().manual_seed(0))


def expected_loss(step, old, batches, clustering=3.0, transfer=1.5):
    """Both terms, from the items given, written out."""
    inputs, labels = torch.cat([each.inputs for each in batches]), torch.cat([each.labels for each in batches])
    with untouched_statistics(step.net):
        new = step.net(inputs).features
    before = old(inputs).features
    current = (labels == step.task.classes[0]) | (labels == step.task.classes[1])
    return clustering * cross_space_clustering(new, before, labels) + transfer * controlled_transfer(
        new, before, current, ~current, 2.0
    )


def test_both_terms_of_stream_and_replay():
    part = CSCCT(update_statistics=False)
    trainer, step = after_a_task("er-ace", part)
    old = snapshot(trainer.net)
    with torch.no_grad():
        trainer.net.head.weight += 1  # no part of the features
        for parameter in trainer.net.backbone.parameters():
            parameter += 0.1
    found = loss(part, step)
    assert len(step.replays) == 1
    torch.testing.assert_close(found, expected_loss(step, old, [step.stream, *step.replays]))
    assert abs(found) > 0.01


@pytest.mark.parametrize(("clustering", "transfer"), [(0.0, 1.5), (3.0, 0.0), (2.0, 4.0)])
def test_each_weight_may_be_zero(clustering, transfer):
    part = CSCCT(clustering_weight=clustering, transfer_weight=transfer, update_statistics=False)
    trainer, step = after_a_task("er-ace", part)
    old = snapshot(trainer.net)
    with torch.no_grad():
        for parameter in trainer.net.backbone.parameters():
            parameter += 0.1
    expected = expected_loss(step, old, [step.stream, *step.replays], clustering, transfer)
    torch.testing.assert_close(loss(part, step), expected)
    assert part.weight == 1


def test_both_weights_zero_is_absent():
    plain, absent = small_trainer("er-ace"), small_trainer("er-ace", [CSCCT(clustering_weight=0, transfer_weight=0)])
    assert absent.run()["class_il"] == plain.run()["class_il"]
    assert torch.equal(absent.net.head.weight, plain.net.head.weight)


def test_only_the_draw_with_labels_is_used():
    part = CSCCT(update_statistics=False)
    trainer, step = after_a_task("der++", part)
    torch.testing.assert_close(
        loss(part, step), expected_loss(step, snapshot(trainer.net), [step.stream, step.replays[1]])
    )


def test_two_draws_whose_labels_count_are_merged_each_item_once():
    part = CSCCT(update_statistics=False)
    trainer, step = after_a_task("x-der", part)
    first, second = step.replays
    again = torch.isin(second.rows, first.rows)
    assert again.any()
    assert not again.all()
    merged = [step.stream, first, second[~again]]
    torch.testing.assert_close(loss(part, step), expected_loss(step, snapshot(trainer.net), merged))


def test_a_method_without_a_draw_gets_one():
    part = CSCCT(update_statistics=False)
    trainer, step = after_a_task("icarl", part)
    rows = trainer.memory.draw_uniform(16, torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(0)
    trainer.memory.draw_uniform(16, generator)
    inputs = step.view(trainer.memory.images[rows], generator)
    drawn = Batch(trainer.memory.images[rows], trainer.memory.labels[rows], inputs)
    torch.testing.assert_close(loss(part, step), expected_loss(step, snapshot(trainer.net), [step.stream, drawn]))


def test_items_whose_label_is_hidden_take_no_part():
    part = CSCCT(update_statistics=False)
    trainer, _ = after_a_task("er-ace", part)
    trainer.method.hides_labels = True
    whole = step_of(trainer).stream
    shown = torch.arange(16) < 5
    batch = Batch(whole.images, torch.where(shown, whole.labels, -1), whole.inputs)
    step = trainer.method.draw(batch, trainer.stream[1], Progress(0, 1, 0))
    expected = expected_loss(step, snapshot(trainer.net), [whole[shown], *step.replays])
    torch.testing.assert_close(loss(part, step), expected)


def test_no_term_in_the_first_task_nor_where_the_method_learns_nothing():
    part = CSCCT()
    trainer = small_trainer("er-ace", [part])
    terms = []
    trainer.listeners = (lambda event: terms.append("cscct" in getattr(event, "terms", {})),)
    trainer.run_phase()
    assert not any(terms)
    assert part.loss(step_of(trainer), {}, torch.Generator()) is None
    terms.clear()
    trainer.run_phase()
    assert sum(terms) == 15


def test_the_old_network_stays_as_it_was_and_has_no_gradient():
    part = CSCCT()
    trainer, step = after_a_task("er-ace", part)
    before = {name: value.clone() for name, value in part.state_dict()["old"].items()}
    assert all(torch.equal(value, trainer.net.state_dict()[name]) for name, value in before.items())
    loss(part, step).backward()
    trainer.make_optimizer().step()
    assert not torch.equal(trainer.net.state_dict()["backbone.stages.0.0.weight"], before["backbone.stages.0.0.weight"])
    assert all(torch.equal(value, before[name]) for name, value in part.state_dict()["old"].items())
    assert not any(parameter.requires_grad for parameter in part._old.parameters())
    trainer.run_phase()
    after = part.state_dict()["old"]  # now of the second task
    assert not torch.equal(after["head.weight"], before["head.weight"])


def test_a_loaded_state_gives_the_same_loss():
    part, other = CSCCT(update_statistics=False), CSCCT(update_statistics=False)
    _, step = after_a_task("er-ace", part)
    other.seed(1)
    other.load_state_dict(part.state_dict())
    assert other.state_dict()["old"].keys() == part.state_dict()["old"].keys()  # before the network is needed, too
    assert torch.equal(loss(other, step), loss(part, step))


@pytest.mark.parametrize("update", [True, False])
def test_statistics(update):
    part = CSCCT(update_statistics=update)
    trainer, step = after_a_task("er-ace", part)
    before = [buffer.clone() for buffer in trainer.net.buffers()]
    loss(part, step)
    assert update == any(not torch.equal(*pair) for pair in zip(trainer.net.buffers(), before, strict=True))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"clustering_weight": -1.0}, "clustering_weight"),
        ({"transfer_weight": float("nan")}, "transfer_weight"),
        ({"temperature": 0.0}, "temperature"),
    ],
)
def test_bad_parameters_are_named(arguments, name):
    with pytest.raises(ValueError, match=name):
        CSCCT(**arguments)


def test_works_without_a_memory():
    assert small_trainer("finetune", [CSCCT()]).run()["class_il"]["final_average_accuracy"] > 0


def test_domain_streams_and_learning_all_at_once_are_refused():
    with pytest.raises(ValueError, match="`stream` must be class-incremental for 'cscct'"):
        small_trainer("er", [CSCCT()], stream=rotated_digits(num_tasks=2))
    with pytest.raises(ValueError, match=r"`regularizers` must be .*'cscct' with Joint"):
        small_trainer("joint", [CSCCT()], stream=split_digits()[:2])
