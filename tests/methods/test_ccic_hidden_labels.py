"""CCIC on a stream that hides labels: what is hidden stays hidden."""

from copy import deepcopy

import torch

from casper import split_digits
from casper.memory import Buffer, reservoir
from casper.methods.ccic import CCICStep
from casper.randomness import named_generator
from casper.step import Progress
from few_labels import batch_of, few_labels, recorded, same_images, update
from support import assert_same_state, hiding_labels, nine_in_ten, small_trainer


def test_steps_before_the_first_label_change_nothing():
    trainer = few_labels()
    for task in (0, 1):
        before = deepcopy(trainer.state_dict())
        _, terms, *_ = update(trainer, batch_of(trainer, task, labels=torch.full((20,), -1)), task)
        assert terms == {}
        assert_same_state(trainer.state_dict(), before)
    _, terms, *_ = update(trainer, batch_of(trainer, 0), 0)
    assert "labelled" in terms


def test_one_label_is_enough_to_begin():
    trainer = few_labels()
    labels = torch.full((20,), -1)
    labels[7] = 1
    _, terms, *_ = update(trainer, batch_of(trainer, 0, labels=labels), 0)
    assert terms.keys() == {"labelled", "unlabelled", "triplet"}
    assert terms["triplet"] == 0
    assert all(parameter.isfinite().all() for parameter in trainer.net.parameters())
    assert trainer.memory.labels.tolist() == [1]


def test_the_unlabelled_ring_is_filled_from_the_second_task_on_and_persists():
    trainer = few_labels()
    trainer.run_phase()
    assert trainer.method.unlabelled.seen == 0
    assert trainer.method.labelled.seen == (trainer.stream[0].train.labels >= 0).sum()
    trainer.run_phase()
    assert trainer.method.unlabelled.seen == (trainer.stream[1].train.labels < 0).sum()
    assert (trainer.method.unlabelled.labels == -1).all()
    state = trainer.method.state_dict()
    trainer.method.start_task(trainer.stream[2])
    assert_same_state(trainer.method.state_dict(), state)
    recent = trainer.method.labelled.images.clone()
    step = trainer.method.draw(batch_of(trainer, 2, labels=torch.full((20,), -1)), trainer.stream[2], Progress(0, 1, 0))
    assert same_images(step.labelled.images[:20], recent)


def of_class_three(labels):
    return (labels == 3) | nine_in_ten(labels)


def test_no_hidden_label_reaches_loss_or_memory():
    stream = hiding_labels(split_digits()[:3], of_class_three)
    trainer = small_trainer("ccic", stream=stream, lr=0.001, batch_size=20, epochs=2)
    seen, losses = [], trainer.method.losses

    def recording(step, passes):
        if isinstance(step, CCICStep):
            seen.append(step.labelled.labels)
        return losses(step, passes)

    trainer.method.losses = recording
    metrics = trainer.run()
    assert torch.cat(seen).unique().tolist() == [0, 1, 2, 4, 5]
    assert trainer.memory.index.classes == [0, 1, 2, 4, 5]
    assert 3 not in trainer.method.labelled.labels
    test = trainer.stream[1].test
    assert trainer.method.predict(test.images)[:, 3].isneginf().all()
    assert metrics["class_il"]["accuracy_matrix"][2][1] < 60  # half of its images are threes


def test_the_memory_is_a_reservoir_of_what_has_labels():
    trainer = few_labels(buffer_size=12, epochs=2)
    expected, generator = Buffer(12, trainer.stream.image_shape), named_generator(trainer.seed, "memory")
    *_, (_, shown, _) = recorded(trainer, 2)
    for _, label, image in shown:
        if label >= 0:
            expected.insert(image[None], torch.tensor([label]), policy=reservoir, generator=generator)
    assert torch.equal(trainer.memory.images, expected.images)
    assert torch.equal(trainer.memory.labels, expected.labels)
