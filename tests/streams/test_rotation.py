import math

import numpy as np
import pytest
import torch
from PIL import Image

from casper.streams import Transform, random_angles, rotate, rotated_stream
from casper.types import ImageSet

TRANSFORM = Transform((0.0,), (1.0,))


def random_images(number, size, channels=1, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, 256, (number, channels, size, size), generator=generator).to(torch.uint8)


def distance_to_border(size, degrees):
    """How far the source point of each pixel is from the nearest border between pixels."""
    angle = math.radians(degrees)
    place = np.arange(size) + 0.5 - size / 2
    x, y = place[None, :], place[:, None]
    source = np.stack([math.cos(angle) * x - math.sin(angle) * y, math.sin(angle) * x + math.cos(angle) * y]) + size / 2
    return np.abs(source - np.round(source)).min(axis=0)


@pytest.mark.parametrize("size", [7, 8, 28])
def test_zero_degrees_is_the_identity(size):
    images = random_images(4, size, channels=3)
    assert torch.equal(rotate(images, 0), images)
    assert torch.equal(rotate(images, 360), images)


@pytest.mark.parametrize("size", [7, 8, 28])
@pytest.mark.parametrize("quarters", [1, 2, 3, -1])
def test_right_angles_turn_counter_clockwise(size, quarters):
    images = random_images(4, size, channels=3)
    assert torch.equal(rotate(images, 90 * quarters), torch.rot90(images, quarters, dims=(2, 3)))


def test_90_degrees_bring_the_right_column_to_the_top():
    image = torch.tensor([[1, 2], [3, 4]], dtype=torch.uint8)[None, None]
    assert rotate(image, 90)[0, 0].tolist() == [[2, 4], [1, 3]]


@pytest.mark.parametrize("size", [8, 9])
def test_180_degrees_twice_is_the_identity(size):
    images = random_images(3, size)
    assert not torch.equal(rotate(images, 180), images)
    assert torch.equal(rotate(rotate(images, 180), 180), images)


# Pillow computes in fixed point with 16 fractional bits, so it may differ where a source point is next to a border.
@pytest.mark.parametrize("degrees", [*(180 * np.random.default_rng(0).random(12)).round(4).tolist(), -30.0, 250.0])
def test_agrees_with_pillow(degrees):
    images = random_images(3, 28, seed=int(abs(degrees)))
    clear = distance_to_border(28, degrees) > 1e-3
    assert clear.mean() > 0.97
    for ours, original in zip(rotate(images, degrees)[:, 0].numpy(), images[:, 0].numpy(), strict=True):
        theirs = np.asarray(Image.fromarray(original).rotate(degrees, resample=Image.Resampling.NEAREST))
        assert np.array_equal(ours[clear], theirs[clear])


# With an odd sum of height and width, a quarter turn puts every source point exactly on a border.
@pytest.mark.parametrize("turns", [0, 1, 10])
def test_source_points_on_a_border_all_go_to_the_same_side(turns):
    images = random_images(1, 29)[:, :, :28]
    left, right = (rotate(images, degrees + 360 * turns) for degrees in (90, 270))
    assert torch.equal(left[..., :28], torch.rot90(images, 1, dims=(2, 3))[:, :, :28])
    assert torch.equal(right[..., 1:], torch.rot90(images, 3, dims=(2, 3))[:, :, 1:])
    assert (left[..., 28] == 0).all()
    assert (right[..., 0] == 0).all()


def test_images_need_not_be_square():
    images = torch.arange(1, 7, dtype=torch.uint8).reshape(1, 1, 2, 3)
    assert torch.equal(rotate(images, 180), images.flip(2, 3))
    wide = random_images(1, 28)[:, :, :14]
    theirs = np.asarray(Image.fromarray(wide[0, 0].numpy()).rotate(90))
    assert np.array_equal(rotate(wide, 90)[0, 0].numpy(), theirs)


def test_zeros_outside():
    rotated = rotate(torch.full((1, 1, 28, 28), 255, dtype=torch.uint8), 45)[0, 0]
    assert rotated[[0, 0, -1, -1], [0, -1, 0, -1]].tolist() == [0, 0, 0, 0]
    assert rotated[14, 14] == 255


def test_shape_and_type_do_not_change():
    images = random_images(2, 9, channels=3)
    rotated = rotate(images, 33)
    assert rotated.shape == images.shape
    assert rotated.dtype == torch.uint8


def test_images_and_channels_are_rotated_alike_and_the_original_is_not_changed():
    images = random_images(3, 10, channels=2)
    before = images.clone()
    rotated = rotate(images, 70)
    for item in range(3):
        for channel in range(2):
            alone = rotate(images[item : item + 1, channel : channel + 1], 70)
            assert torch.equal(rotated[item, channel], alone[0, 0])
    assert torch.equal(images, before)


def test_angles_are_distinct_and_within_half_a_turn():
    angles = random_angles(20, torch.Generator().manual_seed(0))
    assert len(set(angles)) == 20
    assert all(0 <= angle < 180 for angle in angles)
    assert min(angles) < 45
    assert max(angles) > 135


def test_angles_are_drawn_in_task_order():
    few, many = (random_angles(number, torch.Generator().manual_seed(3)) for number in (5, 20))
    assert few == many[:5]
    assert few != random_angles(5, torch.Generator().manual_seed(4))


def rotated(angles, **options):
    labels = torch.tensor([0, 2, 1, 0, 2])
    train = ImageSet(random_images(5, 9), labels)
    test = ImageSet(random_images(4, 9, seed=1), labels[:4])
    return train, test, rotated_stream(train, test, angles=angles, transform=TRANSFORM, **options)


def test_training_and_test_images_of_a_task_have_the_same_angle():
    angles = [0.0, 20.0, 90.0, 133.7]
    train, test, stream = rotated(angles)
    assert len(stream) == 4
    for task, angle in zip(stream, angles, strict=True):
        assert torch.equal(task.train.images, rotate(train.images, angle))
        assert torch.equal(task.test.images, rotate(test.images, angle))


def test_labels_and_classes_are_the_same_in_every_task():
    train, test, stream = rotated([10.0, 50.0, 100.0])
    for index, task in enumerate(stream):
        assert task.classes == (0, 1, 2)
        assert torch.equal(task.train.labels, train.labels)
        assert torch.equal(task.test.labels, test.labels)
        assert (task.index, task.num_tasks) == (index, 3)


def test_rotated_stream_describes_itself():
    _, _, stream = rotated([10.0, 50.0])
    assert stream.scenario == "domain"
    assert stream.num_classes == 3
    assert stream.image_shape == (1, 9, 9)
    assert stream.class_names == ("0", "1", "2")
    assert stream.transform is TRANSFORM
    assert rotated([1.0], class_names=["a", "b", "c"])[2].class_names == ("a", "b", "c")
