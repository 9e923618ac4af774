import pytest
import torch

from casper import rotated_digits, split_digits
from casper.streams import hide_labels


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
    with pytest.raises(ValueError, match=f"`{parameter}` should"):
        hide_labels(split_digits(), **arguments)


def test_domain_streams_are_refused():
    with pytest.raises(ValueError, match="`labels` should be used with a class stream"):
        hide_labels(rotated_digits(num_tasks=2), fraction=0.1)
