import pytest
import torch

from casper.data import ParquetFolder, load
from casper.errors import ParameterError
from casper.streams import Transform, class_split, split_images
from casper.types import ImageSet
from image_files import write_set

TRANSFORM = Transform((0.5,), (0.5,))


def images_of(labels):
    """Images whose pixels hold their own label and their place."""
    labels = torch.tensor(labels)
    images = torch.stack([labels, torch.arange(len(labels))], dim=1).to(torch.uint8)[:, None, None, :]
    return ImageSet(images, labels)


def data(labels=(3, 8, 5, 3, 9, 8, 5, 9, 3, 2, 2, 7)):
    return images_of(list(labels)), images_of(sorted(set(labels)))


def split(num_tasks=3, labels=None, **options):
    train, test = data(labels) if labels else data()
    return class_split(train, test, num_tasks=num_tasks, transform=TRANSFORM, **options)


def test_describes_itself():
    stream = split()
    assert len(stream) == 3
    assert stream.scenario == "class"
    assert stream.num_classes == 6
    assert stream.image_shape == (1, 1, 2)
    assert stream.transform is TRANSFORM
    assert stream.class_names == ("2", "3", "5", "7", "8", "9")


def test_labels_are_renamed_in_ascending_order_by_default():
    for task in split():
        for images in (task.train, task.test):
            assert images.labels.dtype == torch.int64
            assert [[2, 3, 5, 7, 8, 9][label] for label in images.labels.tolist()] == images.images[:, 0, 0, 0].tolist()


def test_labels_are_renamed_by_class_order():
    order = [9, 2, 7, 3, 8, 5]
    stream = split(class_order=order)
    assert stream.class_names == ("9", "2", "7", "3", "8", "5")
    for task in stream:
        for images in (task.train, task.test):
            assert [order[label] for label in images.labels.tolist()] == images.images[:, 0, 0, 0].tolist()
    assert set(stream[0].train.images[:, 0, 0, 0].tolist()) == {9, 2}


@pytest.mark.parametrize(("num_tasks", "per_task"), [(1, 6), (2, 3), (3, 2), (6, 1)])
def test_tasks_own_consecutive_classes_that_are_disjoint_and_cover_all(num_tasks, per_task):
    tasks = list(split(num_tasks))
    assert [label for task in tasks for label in task.classes] == list(range(6))
    assert all(len(task.classes) == per_task for task in tasks)
    assert [(task.index, task.num_tasks) for task in tasks] == [(index, num_tasks) for index in range(num_tasks)]
    for task in tasks:
        assert set(task.train.labels.tolist()) == set(task.test.labels.tolist()) == set(task.classes)


def test_every_image_is_in_exactly_one_task():
    places = torch.cat([task.train.images[:, 0, 0, 1] for task in split()])
    assert sorted(places.tolist()) == list(range(12))
    places = torch.cat([task.test.images[:, 0, 0, 1] for task in split()])
    assert sorted(places.tolist()) == list(range(6))


def test_images_of_a_task_stay_in_their_order():
    for task in split():
        places = task.train.images[:, 0, 0, 1].tolist()
        assert places == sorted(places)


def test_names_follow_the_class_order():
    stream = split(class_order=[9, 2, 7, 3, 8, 5], class_names=["two", "three", "five", "seven", "eight", "nine"])
    assert stream.class_names == ("nine", "two", "seven", "three", "eight", "five")


def test_test_images_of_other_classes_are_left_out():
    train, _ = data()
    stream = class_split(train, images_of([2, 3, 4, 5, 7, 8, 9, 0]), num_tasks=2, transform=TRANSFORM)
    assert torch.cat([task.test.images[:, 0, 0, 0] for task in stream]).tolist() == [2, 3, 5, 7, 8, 9]


def test_same_task_every_time():
    stream = split()
    assert torch.equal(stream[1].train.images, stream[1].train.images)
    assert torch.equal(stream[1].train.labels, list(stream)[1].train.labels)


@pytest.mark.parametrize("num_tasks", [0, -2, 4, 5, 12])
def test_tasks_must_divide_the_classes(num_tasks):
    with pytest.raises(ParameterError, match=f"`num_tasks` must be a divisor of .* 6, but got {num_tasks}"):
        split(num_tasks)


@pytest.mark.parametrize("order", [[2, 3, 5], [2, 3, 5, 7, 8, 8], [0, 1, 2, 3, 4, 5], [2, 3, 5, 7, 8, 9, 9], []])
def test_class_order_must_be_a_permutation(order):
    with pytest.raises(
        ParameterError, match=r"`class_order` must be .* a permutation of the labels \[2, 3, 5, 7, 8, 9\]"
    ):
        split(num_tasks=1, class_order=order)


def test_every_class_must_have_test_images():
    train, _ = data()
    with pytest.raises(ParameterError, match=r"`test` must be .* but got no images of the classes \[5, 9\]"):
        class_split(train, images_of([2, 3, 7, 8]), num_tasks=3, transform=TRANSFORM)


def test_every_class_must_have_its_name():
    with pytest.raises(ValueError):
        split(class_names=["a", "b"])


def test_test_labels_beyond_all_training_labels_are_left_out():
    train, test = images_of([2, 3, 5, 7]), images_of([7, 99, 2, -4, 3, 5])
    stream = class_split(train, test, num_tasks=1, transform=TRANSFORM)
    assert stream[0].test.labels.tolist() == [3, 0, 1, 2]


def test_everything_reaches_the_stream(tmp_path):
    write_set(tmp_path, 6)
    data = load(ParquetFolder(tmp_path))
    transform = Transform((0.5,) * 3, (0.5,) * 3)
    stream = split_images(data, transform, num_tasks=3, class_order="shuffled", seed=5)
    assert (len(stream), stream.transform, stream.about) == (3, transform, data.about)
    assert sorted(stream.class_names) == sorted(data.class_names)
    assert stream.class_names != data.class_names
    assert split_images(data, transform, num_tasks=3, class_order="shuffled", seed=6).class_names != stream.class_names
    assert split_images(data, transform, num_tasks=2).class_names == data.class_names
