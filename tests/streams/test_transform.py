from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import pytest
import torch
import torch.nn.functional as F

from casper.streams import Transform, normalize, random_view


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def random_crop(images, padding, source):
    return random_view(images, padding=padding, flip=False, generator=source)


def random_flip(images, source):
    return random_view(images, padding=0, flip=True, generator=source)


def random_images(number=40, channels=3, height=6, width=5, seed=9):
    shape = (number, channels, height, width)
    return torch.randint(1, 256, shape, generator=generator(seed)).to(torch.uint8)


def window_of(image, crop, padding):
    """The place (top, left) of the one window of the padded image that equals the crop."""
    padded = F.pad(image, (padding,) * 4)
    height, width = image.shape[1:]
    places = [
        (top, left)
        for top in range(2 * padding + 1)
        for left in range(2 * padding + 1)
        if torch.equal(padded[:, top : top + height, left : left + width], crop)
    ]
    assert len(places) == 1
    return places[0]


@pytest.mark.parametrize("padding", [0, 1, 2, 4])
def test_crops_are_windows_of_their_own_padded_image(padding):
    images = random_images()
    crops = random_crop(images, padding, generator())
    assert crops.shape == images.shape
    assert crops.dtype == torch.uint8
    for image, crop in zip(images, crops, strict=True):
        window_of(image, crop, padding)


def test_crops_are_placed_separately_for_each_image_and_direction():
    images = random_images(900)
    crops = random_crop(images, 1, generator(1))
    places = [window_of(image, crop, 1) for image, crop in zip(images, crops, strict=True)]
    frequencies = torch.tensor([3 * top + left for top, left in places]).bincount(minlength=9)
    sigma = (900 * 1 / 9 * 8 / 9) ** 0.5
    assert ((frequencies - 100).abs() < 4 * sigma).all()


def test_crop_without_padding_changes_nothing():
    images = random_images()
    assert torch.equal(random_crop(images, 0, generator()), images)


def test_half_of_the_images_are_flipped_left_to_right():
    images = random_images(1000)
    flips = random_flip(images, generator(2))
    mirrored = (flips == images.flip(3)).flatten(1).all(dim=1)
    untouched = (flips == images).flatten(1).all(dim=1)
    assert (mirrored ^ untouched).all()
    assert abs(int(mirrored.sum()) - 500) < 4 * 250**0.5
    assert flips.dtype == torch.uint8
    changes = int((mirrored[1:] != mirrored[:-1]).sum())
    assert abs(changes - 999 / 2) < 4 * (999 / 4) ** 0.5


def test_constant_image_is_normalised_to_the_exact_value():
    images = torch.full((2, 3, 4, 4), 51, dtype=torch.uint8)
    values = normalize(images, (0.1, 0.2, 0.5), (0.5, 0.25, 0.1))
    expected = torch.tensor([0.2, 0.0, -3.0])[None, :, None, None].expand_as(values)
    assert values.dtype == torch.float32
    torch.testing.assert_close(values, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("value", "expected"), [(0, -1.0), (255, 1.0)])
def test_normalised_range(value, expected):
    values = normalize(torch.full((1, 1, 2, 2), value, dtype=torch.uint8), (0.5,), (0.5,))
    assert (values == expected).all()


@pytest.mark.parametrize("augment", [lambda images, source: random_crop(images, 2, source), random_flip])
def test_augmentation_follows_the_generator(augment):
    images = random_images()
    first, again, other = (augment(images, generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("augment", [lambda images, source: random_crop(images, 2, source), random_flip])
def test_augmentation_leaves_the_stored_images_and_the_global_generator_alone(augment):
    images = random_images()
    before, state = images.clone(), torch.get_rng_state()
    augment(images, generator())
    assert torch.equal(images, before)
    assert torch.equal(torch.get_rng_state(), state)


def test_training_view_crops_flips_and_normalises():
    images = random_images()
    transform = Transform((0.1, 0.2, 0.3), (0.4, 0.5, 0.6), padding=2, flip=True)
    views = transform.train(images, generator(5))
    expected = random_view(images, padding=2, flip=True, generator=generator(5))
    assert torch.equal(views, normalize(expected, transform.mean, transform.std))


def test_a_view_is_a_window_of_the_image_or_of_its_mirror_image():
    images = random_images(200)
    views = random_view(images, padding=2, flip=True, generator=generator(6))
    mirrored = 0
    for image, view in zip(images, views, strict=True):
        try:
            window_of(image, view, 2)
        except AssertionError:
            window_of(image.flip(2), view, 2)
            mirrored += 1
    assert abs(mirrored - 100) < 4 * 50**0.5


def test_images_that_are_not_contiguous_have_the_same_views():
    images = random_images()
    other = images.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    first, second = (random_view(x, padding=2, flip=True, generator=generator(7)) for x in (images, other))
    assert torch.equal(first, second)


def test_training_views_are_fresh_at_every_call():
    transform = Transform((0.5,) * 3, (0.5,) * 3, padding=2)
    source = generator()
    assert not torch.equal(transform.train(random_images(), source), transform.train(random_images(), source))


def test_training_view_without_augmentation_draws_nothing():
    images, source = random_images(), generator()
    state = source.get_state()
    transform = Transform((0.5,) * 3, (0.5,) * 3)
    assert torch.equal(transform.train(images, source), transform.test(images))
    assert torch.equal(source.get_state(), state)


def test_test_view_only_normalises():
    images = random_images()
    transform = Transform((0.1, 0.2, 0.3), (0.4, 0.5, 0.6), padding=2, flip=True)
    assert torch.equal(transform.test(images), normalize(images, transform.mean, transform.std))


def test_transform_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Transform((0.5,), (0.5,)).padding = 3


def test_threads_do_not_get_in_each_others_way():
    images = [random_images(64, seed=seed) for seed in range(4)]
    expected = [random_view(x, padding=2, flip=True, generator=generator(3)) for x in images]

    def many(place):
        views = (random_view(images[place], padding=2, flip=True, generator=generator(3)) for _ in range(50))
        return all(torch.equal(view, expected[place]) for view in views)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(many, range(4)))


def test_a_first_view_in_inference_mode_is_no_matter():
    images = random_images(7, height=11)  # a shape that no other test has
    with torch.inference_mode():
        first = random_view(images, padding=1, flip=True, generator=generator())
    assert torch.equal(random_view(images, padding=1, flip=True, generator=generator()), first)
