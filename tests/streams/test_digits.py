import pytest
import torch
from sklearn import datasets

from casper.errors import ParameterError
from casper.streams import load_digits, rotate, rotated_digits, split_digits


def as_rows(images):
    return [tuple(image) for image in images.flatten(1).tolist()]


def test_numbers_of_images():
    train, test = load_digits()
    assert (len(train), len(test)) == (1201, 596)
    assert train.labels.bincount().tolist() == [119, 122, 118, 122, 121, 122, 121, 120, 116, 120]
    assert test.labels.bincount().tolist() == [59, 60, 59, 61, 60, 60, 60, 59, 58, 60]


def test_shapes_and_types():
    for images in load_digits():
        assert images.images.shape[1:] == (1, 8, 8)
        assert images.images.dtype == torch.uint8
        assert images.labels.dtype == torch.int64
        assert images.images.max() == 255


def test_training_and_test_images_are_disjoint():
    train, test = load_digits()
    assert len({*as_rows(train.images), *as_rows(test.images)}) == 1797


def test_every_third_image_of_a_class_is_for_testing():
    digits = datasets.load_digits()
    train, test = load_digits()
    for label in range(10):
        original = torch.from_numpy(digits.images[digits.target == label] * 255 / 16).round().to(torch.uint8)
        assert torch.equal(test.images[test.labels == label][:, 0], original[2::3])
        kept = torch.arange(len(original)) % 3 != 2
        assert torch.equal(train.images[train.labels == label][:, 0], original[kept])


def test_split_is_the_same_every_time():
    torch.manual_seed(1)
    first = load_digits()
    torch.manual_seed(2)
    for one, other in zip(first, load_digits(), strict=True):
        assert torch.equal(one.images, other.images)
        assert torch.equal(one.labels, other.labels)


def test_split_digits_by_default():
    stream = split_digits()
    assert len(stream) == 5
    assert (stream.scenario, stream.num_classes, stream.image_shape) == ("class", 10, (1, 8, 8))
    assert [task.classes for task in stream] == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]
    assert [len(task.train) for task in stream] == [241, 240, 243, 241, 236]
    assert [len(task.test) for task in stream] == [119, 120, 120, 119, 118]


def test_split_digits_in_another_order():
    stream = split_digits(num_tasks=2, class_order=[9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    train, _ = load_digits()
    assert stream.class_names == tuple("9876543210")
    task = stream[0]
    assert torch.equal(task.train.images[task.train.labels == 0], train.images[train.labels == 9])


@pytest.mark.parametrize("num_tasks", [0, 3])
def test_split_digits_into_tasks_that_do_not_divide(num_tasks):
    with pytest.raises(ParameterError, match="num_tasks"):
        split_digits(num_tasks=num_tasks)


@pytest.mark.parametrize("make", [split_digits, rotated_digits])
def test_training_views_are_normalised_crops_without_flip(make):
    transform = make().transform
    train, _ = load_digits()
    values = train.images / 255
    assert transform.mean == pytest.approx([values.mean().item()], abs=5e-5)
    assert transform.std == pytest.approx([values.std().item()], abs=5e-5)
    assert transform.padding == 1
    assert not transform.flip


def test_rotated_digits_show_all_digits_in_every_task():
    stream = rotated_digits()
    train, test = load_digits()
    assert len(stream) == 5
    assert (stream.scenario, stream.num_classes, stream.image_shape) == ("domain", 10, (1, 8, 8))
    for task in stream:
        assert task.classes == tuple(range(10))
        assert torch.equal(task.train.labels, train.labels)
        assert torch.equal(task.test.labels, test.labels)


def test_rotated_digits_differ_from_task_to_task_and_seed_to_seed():
    shown = [as_rows(task.train.images[:20]) for seed in (0, 1) for task in rotated_digits(num_tasks=3, seed=seed)]
    assert all(one != other for place, one in enumerate(shown) for other in shown[:place])


def test_rotated_digits_are_the_same_for_a_seed():
    one, other = rotated_digits(seed=4), rotated_digits(seed=4, num_tasks=8)
    assert all(torch.equal(one[task].test.images, other[task].test.images) for task in range(5))


def test_rotated_digits_are_rotations_by_one_angle():
    train, test = load_digits()
    task = rotated_digits(num_tasks=1, seed=2)[0]
    matching = [
        angle / 4 for angle in range(720) if torch.equal(rotate(train.images[:50], angle / 4), task.train.images[:50])
    ]
    assert matching
    assert torch.equal(rotate(test.images, matching[0]), task.test.images)


def test_rotated_digits_need_a_task():
    with pytest.raises(ParameterError, match=r"`num_tasks` must be at least 1, but got 0"):
        rotated_digits(num_tasks=0)
