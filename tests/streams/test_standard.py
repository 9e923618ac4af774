import pytest
import torch

from casper.streams import (
    rotate,
    rotated_mnist,
    split_cifar10,
    split_cifar100,
    split_fashion_mnist,
    split_mini_imagenet,
    split_mnist,
)
from casper.streams import standard as image_sets
from image_files import encoded, picture, write_parquet

# Function, tasks, classes a task, image shape, mean, std, border and flip of the training views.
CARDS = [
    (split_cifar10, 5, 2, (3, 8, 8), (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2615), True),
    (split_cifar100, 10, 10, (3, 8, 8), (0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761), True),
    (
        split_mini_imagenet,
        20,
        5,
        (3, 84, 84),
        (0.47313006, 0.44905752, 0.40378186),
        (0.27292014, 0.26559181, 0.27953038),
        True,
    ),
    (split_mnist, 5, 2, (1, 8, 8), (0.0,), (1.0,), False),
    (split_fashion_mnist, 5, 2, (1, 8, 8), (0.0,), (1.0,), False),
]


@pytest.mark.parametrize(("make", "tasks", "classes", "shape", "mean", "std", "flip"), CARDS)
def test_tasks_classes_and_constants(make, tasks, classes, shape, mean, std, flip, data_dir):
    stream = make(data_dir=str(data_dir))
    assert len(stream) == tasks
    assert stream.num_classes == tasks * classes
    assert stream.image_shape == shape
    assert (stream.transform.mean, stream.transform.std, stream.transform.flip) == (mean, std, flip)
    for index, task in enumerate(stream):
        assert task.classes == tuple(range(index * classes, (index + 1) * classes))
        assert set(task.train.labels.tolist()) == set(task.test.labels.tolist()) == set(task.classes)
    assert stream.class_names[:2] == ("class 0", "class 1")
    assert str(data_dir) in stream.about


@pytest.mark.parametrize(("size", "padding"), [(None, 1), (16, 2), (32, 4), (4, 0)])
def test_the_border_of_crops_follows_the_size(size, padding, data_dir):
    stream = split_cifar100(data_dir=str(data_dir), image_size=size)
    assert stream.image_shape == (3, size or 8, size or 8)
    assert stream.transform.padding == padding


def test_the_usual_sizes_have_the_usual_border(data_dir):
    assert split_mini_imagenet(data_dir=str(data_dir)).transform.padding == 4
    assert split_mini_imagenet(data_dir=str(data_dir), image_size=42).transform.padding == 2
    with pytest.raises(ValueError, match="image_size"):
        split_mini_imagenet(data_dir=str(data_dir), image_size=0)


def test_tasks_and_class_order(data_dir):
    stream = split_cifar10(data_dir=str(data_dir), num_tasks=2, class_order="shuffled", seed=3)
    assert len(stream) == 2
    assert sorted(stream.class_names) == sorted(split_cifar10(data_dir=str(data_dir)).class_names)
    assert stream.class_names != split_cifar10(data_dir=str(data_dir)).class_names
    again, other = (split_cifar10(data_dir=str(data_dir), class_order="shuffled", seed=seed) for seed in (3, 4))
    assert again.class_names == stream.class_names != other.class_names
    with pytest.raises(ValueError, match="a divisor of the number of classes, 10"):
        split_cifar10(data_dir=str(data_dir), num_tasks=3)


def test_rotated_mnist(data_dir):
    stream = rotated_mnist(data_dir=str(data_dir), seed=1)
    assert (len(stream), stream.num_classes, stream.scenario) == (20, 10, "domain")
    assert stream.image_shape == (1, 8, 8)
    flat = split_mnist(data_dir=str(data_dir), num_tasks=1)[0]
    angles = image_sets.random_angles(20, image_sets.named_generator(1, "angles"))
    for index in (0, 7, 19):
        task = stream[index]
        assert torch.equal(task.train.images, rotate(flat.train.images, angles[index]))
        assert torch.equal(task.test.images, rotate(flat.test.images, angles[index]))
        assert torch.equal(task.train.labels, flat.train.labels)
    assert len(set(angles)) == 20
    assert stream.transform.train(flat.train.images, torch.Generator()).max() <= 1
    assert not torch.equal(rotated_mnist(data_dir=str(data_dir), seed=2)[0].train.images, stream[0].train.images)
    with pytest.raises(ValueError, match="at least 1"):
        rotated_mnist(data_dir=str(data_dir), num_tasks=0)


def test_mini_imagenet_in_the_few_shot_form_is_cut_500_to_100(tmp_path):
    for part, classes in (("train", (0, 1)), ("validation", (2,)), ("test", (3,))):
        labels = [label for label in classes for _ in range(12)]
        images = [encoded(picture(label, (20, 30))) for label in labels]
        write_parquet(tmp_path / "mini_imagenet" / f"{part}.parquet", images, labels, names=list("abcd"))
    stream = split_mini_imagenet(data_dir=str(tmp_path), num_tasks=4)
    assert stream.class_names == tuple("abcd")
    assert [(len(task.train), len(task.test)) for task in stream] == [(10, 2)] * 4
    assert stream.image_shape == (3, 84, 84)
