from dataclasses import replace

import pytest
import torch

from casper import rotated_digits, split_digits
from casper.streams import hide_labels, hold_out
from casper.streams.subsets import held_out_rows, shortened


def known(stream):
    """The number of labels that each class has left."""
    labels = torch.cat([task.train.labels for task in stream])
    return labels[labels >= 0].bincount(minlength=10).tolist()


def sizes(stream):
    return torch.cat([task.train.labels for task in stream]).bincount(minlength=10).tolist()


def test_a_number_of_labels_per_class_stays():
    assert known(hide_labels(split_digits(), per_class=4)) == [4] * 10


def test_a_fraction_of_each_class_stays():
    full = sizes(split_digits())
    assert known(hide_labels(split_digits(), fraction=0.05)) == [round(0.05 * size) for size in full]


def test_at_least_one_label_stays_and_at_most_all():
    assert known(hide_labels(split_digits(), fraction=1e-6)) == [1] * 10
    assert known(hide_labels(split_digits(), per_class=10_000)) == sizes(split_digits())


def test_what_stays_is_true_and_images_order_and_tests_are_as_before():
    for task, whole in zip(hide_labels(split_digits(), per_class=4), split_digits(), strict=True):
        shown = task.train.labels >= 0
        assert torch.equal(task.train.labels[shown], whole.train.labels[shown])
        assert (task.train.labels[~shown] == -1).all()
        assert torch.equal(task.train.images, whole.train.images)
        assert torch.equal(task.test.labels, whole.test.labels)
        assert (task.classes, task.index, task.num_tasks, task.past) == (
            whole.classes,
            whole.index,
            whole.num_tasks,
            whole.past,
        )


def test_the_seed_chooses_once_per_run_whatever_the_order_of_tasks():
    def marks(stream, place):
        return hide_labels(stream, per_class=4, seed=3)[place].train.labels

    assert torch.equal(marks(split_digits(), 1), marks(split_digits(), 1))
    assert torch.equal(marks(split_digits()[2:], 0), marks(split_digits(), 2))
    assert not torch.equal(marks(split_digits(), 1), hide_labels(split_digits(), per_class=4, seed=4)[1].train.labels)


def test_classes_are_chosen_from_independently():
    labels = hide_labels(split_digits(), per_class=20)[0].train.labels
    whole = split_digits()[0].train.labels
    places = [(labels[whole == label] >= 0).nonzero().flatten().tolist() for label in (0, 1)]
    assert places[0] != places[1]


def test_the_stream_says_so():
    assert not split_digits().hides_labels
    assert hide_labels(split_digits(), per_class=1).hides_labels
    assert hide_labels(split_digits(), per_class=1)[:2].hides_labels


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({}, "labels"),
        ({"fraction": 0.1, "per_class": 4}, "labels"),
        ({"fraction": 0.0}, "labels"),
        ({"fraction": 1.0}, "labels"),
        ({"per_class": 0}, "labels_per_class"),
    ],
)
def test_bad_budgets_are_named(arguments, parameter):
    with pytest.raises(ValueError, match=f"`{parameter}` must be"):
        hide_labels(split_digits(), **arguments)


def test_domain_streams_are_refused():
    with pytest.raises(ValueError, match="`labels` must be used with a class stream"):
        hide_labels(rotated_digits(num_tasks=2), fraction=0.1)


def test_every_class_gives_its_part():
    labels = torch.tensor([3] * 20 + [5] * 40 + [9] * 4)
    marks = held_out_rows(labels, 0.1)
    assert [int(marks[labels == label].sum()) for label in (3, 5, 9)] == [2, 4, 1]
    assert torch.equal(marks, held_out_rows(labels, 0.1))
    places = marks[labels == 5].nonzero().flatten().tolist()
    assert places not in ([0, 1, 2, 3], [36, 37, 38, 39])  # drawn, not cut off


def test_training_images_are_divided_and_test_images_never_made():
    def without_test(number):
        return replace(whole.make_task(number), make_test=lambda: pytest.fail("made the test images"))

    whole = split_digits()
    stream = hold_out(replace(whole, make_task=without_test), 0.1)
    assert (len(stream), stream.num_classes, stream.class_names) == (5, 10, whole.class_names)
    for before, after in zip(whole, stream, strict=True):
        assert after.classes == before.classes
        assert after.past == before.past
        assert len(after.train) + len(after.test) == len(before.train)
        rows = {image.numpy().tobytes() for image in after.train.images}
        held_out = {image.numpy().tobytes() for image in after.test.images}
        assert rows | held_out == {image.numpy().tobytes() for image in before.train.images}
        assert not rows & held_out
        assert set(after.test.labels.tolist()) == set(before.classes)
        assert 0.09 < len(after.test) / len(before.train) < 0.11


def test_a_domain_stream_holds_the_same_images_out_everywhere():
    stream = hold_out(rotated_digits(num_tasks=2), 0.2)
    assert torch.equal(stream[0].test.labels, stream[1].test.labels)
    assert torch.equal(stream[0].train.labels, stream[1].train.labels)


@pytest.mark.parametrize("part", [0.0, 1.0, -0.1, 1.5])
def test_a_part_that_is_none_or_all(part):
    with pytest.raises(ValueError, match=r"`validation` must be in \(0, 1\)"):
        hold_out(split_digits(), part)


def test_a_class_of_one_image_cannot_be_divided():
    with pytest.raises(ValueError, match="`validation` must be small enough to leave images of class 4 to train on"):
        held_out_rows(torch.tensor([3, 3, 4]), 0.1)


def test_the_same_images_are_held_out_whatever_the_order_of_classes():
    def held_out(**options):
        stream = hold_out(split_digits(**options), 0.1)
        return {image.numpy().tobytes() for task in stream for image in task.test.images}

    first = held_out()
    assert held_out(class_order="shuffled", seed=1) == first
    assert held_out(class_order=[9, 8, 7, 6, 5, 4, 3, 2, 1, 0], num_tasks=2) == first


def test_the_number_is_rounded():
    assert int(held_out_rows(torch.zeros(19, dtype=torch.long), 0.1).sum()) == 2
    assert int(held_out_rows(torch.zeros(14, dtype=torch.long), 0.1).sum()) == 1


def test_every_task_has_the_given_number_of_its_images():
    stream = split_digits()
    for whole, short in zip(stream, shortened(stream, train=20, test=7), strict=True):
        assert (len(short.train), len(short.test)) == (20, 7)
        for kept, of in ((short.train, whole.train), (short.test, whole.test)):
            there = {(image.numpy().tobytes(), int(label)) for image, label in zip(of.images, of.labels, strict=True)}
            found = {(i.numpy().tobytes(), int(label)) for i, label in zip(kept.images, kept.labels, strict=True)}
            assert found <= there
            assert len(found) == len(kept)
        assert not torch.equal(short.train.images, whole.train.images[:20])  # files may be sorted by class
        assert (short.classes, short.index, short.num_tasks, short.past) == (
            *(whole.classes, whole.index, whole.num_tasks, whole.past),
        )


def test_the_choice_is_the_same_every_time_whatever_else_is_random():
    stream = split_digits()
    first = shortened(stream, train=20, test=7)[1]
    torch.manual_seed(3)
    before = torch.get_rng_state()
    second = shortened(stream, train=20, test=7)[1]
    assert first.train.checksum() == second.train.checksum()
    assert first.test.checksum() == second.test.checksum()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("size", [10**6, 2**40])
def test_all_images_stay_if_there_are_fewer(size):
    stream = split_digits()
    short = shortened(stream, train=size, test=size)[0]
    assert (len(short.train), len(short.test)) == (len(stream[0].train), len(stream[0].test))
