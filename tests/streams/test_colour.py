import colorsys

import pytest
import torch
from PIL import Image, ImageEnhance

from casper.streams.colour import change_brightness, change_contrast, change_saturation, greyscale, shift_hue

CHANGES = [change_brightness, change_contrast, change_saturation, shift_hue]


def random_images(n=6, channels=3, height=5, width=4, seed=0):
    return torch.rand(n, channels, height, width, generator=torch.Generator().manual_seed(seed))


def bytes_of(images):
    return (images * 255).round().to(torch.uint8)


def pillow(image):
    """An image of Pillow's from uint8 values of shape (3, h, w)."""
    return Image.fromarray(image.permute(1, 2, 0).contiguous().numpy())


def from_pillow(image):
    return torch.tensor(list(image.tobytes())).view(image.height, image.width, 3).permute(2, 0, 1)


def luma(pixel):
    red, green, blue = pixel.tolist()
    return 0.299 * red + 0.587 * green + 0.114 * blue


def each_pixel(images, amounts, rule):
    """Compute pixel by pixel: rule(pixel of 3 values, its image, the amount)."""
    result = torch.empty_like(images)
    for i in range(len(images)):
        for y in range(images.shape[2]):
            for x in range(images.shape[3]):
                result[i, :, y, x] = torch.tensor(rule(images[i, :, y, x], images[i], amounts[i].item()))
    return result


def clamped(values):
    return [min(max(value, 0.0), 1.0) for value in values]


def test_brightness():
    images, factors = random_images(), torch.linspace(0.4, 1.9, 6)
    expected = each_pixel(images, factors, lambda pixel, _, factor: clamped([factor * v for v in pixel.tolist()]))
    torch.testing.assert_close(change_brightness(images, factors), expected)
    assert (expected == 1).any()


def test_contrast():
    images, factors = random_images(), torch.linspace(0.4, 1.9, 6)

    def rule(pixel, image, factor):
        pixels = image.flatten(1).T
        mean = sum(luma(other) for other in pixels) / len(pixels)
        return clamped([factor * value + (1 - factor) * mean for value in pixel.tolist()])

    torch.testing.assert_close(change_contrast(images, factors), each_pixel(images, factors, rule))


def test_saturation():
    images, factors = random_images(), torch.linspace(0.4, 1.9, 6)

    def rule(pixel, _, factor):
        return clamped([factor * value + (1 - factor) * luma(pixel) for value in pixel.tolist()])

    torch.testing.assert_close(change_saturation(images, factors), each_pixel(images, factors, rule))


@pytest.mark.parametrize(
    ("change", "pillows"),
    [
        (change_brightness, ImageEnhance.Brightness),
        (change_contrast, ImageEnhance.Contrast),
        (change_saturation, ImageEnhance.Color),
    ],
)
@pytest.mark.parametrize("factor", [0.6, 1.0, 1.4])
def test_the_changes_are_pillows(change, pillows, factor):
    images = bytes_of(random_images(4, height=9, width=7))
    found = change(images / 255, torch.full((4,), factor))
    for image, changed in zip(images, found, strict=True):
        expected = from_pillow(pillows(pillow(image)).enhance(factor))
        assert (changed * 255 - expected).abs().max() <= 2  # Pillow rounds the mean, the grey and the result


def test_hue():
    images, turns = random_images(12), torch.linspace(-1.3, 1.3, 12)

    def rule(pixel, _, turn):
        hue, saturation, value = colorsys.rgb_to_hsv(*pixel.tolist())
        return colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value)

    torch.testing.assert_close(shift_hue(images, turns), each_pixel(images, turns, rule), rtol=0, atol=2e-6)


def test_a_third_of_a_turn_moves_each_channel_to_the_next():
    images = random_images(3)
    torch.testing.assert_close(shift_hue(images, torch.full((3,), 1 / 3)), images.roll(1, dims=1), rtol=0, atol=2e-6)


def test_grey_pixels_and_black_ones_have_no_hue_to_turn():
    images = random_images(3, channels=1).expand(-1, 3, -1, -1).clone()
    images[0] = 0
    torch.testing.assert_close(shift_hue(images, torch.tensor([0.1, -0.1, 0.4])), images)


def test_greyscale():
    images = random_images()
    grey = greyscale(images)
    expected = each_pixel(images, torch.zeros(6), lambda pixel, *_: [luma(pixel)] * 3)
    torch.testing.assert_close(grey, expected)
    of_bytes = bytes_of(images)
    for image, found in zip(of_bytes, greyscale(of_bytes / 255), strict=True):
        assert (found * 255 - from_pillow(pillow(image).convert("L").convert("RGB"))).abs().max() <= 1


@pytest.mark.parametrize("change", CHANGES)
def test_a_factor_of_one_and_a_turn_of_nothing_change_nothing(change):
    images = random_images()
    neutral = torch.zeros(6) if change is shift_hue else torch.ones(6)
    torch.testing.assert_close(change(images, neutral), images, rtol=0, atol=1e-6)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("change", CHANGES)
def test_values_stay_in_range_and_the_images_as_they_were(change, channels):
    images = random_images(40, channels=channels).round(decimals=1)  # zeros, ones and equal channels among them
    before = images.clone()
    found = change(images, torch.linspace(-1, 3, 40) if change is shift_hue else torch.linspace(0, 3, 40))
    assert found.shape == images.shape
    assert found.min() >= 0
    assert found.max() <= 1
    assert torch.equal(images, before)


def test_images_without_colour_have_neither_saturation_nor_hue():
    images, amounts = random_images(channels=1), torch.linspace(0.4, 1.9, 6)
    for same in (change_saturation(images, amounts), shift_hue(images, amounts), greyscale(images)):
        assert torch.equal(same, images)
    expected = (images - images.mean(dim=(1, 2, 3), keepdim=True)) * amounts[:, None, None, None]
    expected = (expected + images.mean(dim=(1, 2, 3), keepdim=True)).clamp(0, 1)
    torch.testing.assert_close(change_contrast(images, amounts), expected)


@pytest.mark.parametrize("change", CHANGES)
def test_an_image_does_not_depend_on_its_neighbours(change):
    images, amounts = random_images(), torch.linspace(0.4, 1.4, 6)
    other = images.clone()
    other[2] = 1 - other[2]
    first, second = change(images, amounts), change(other, amounts)
    rest = [0, 1, 3, 4, 5]
    assert torch.equal(first[rest], second[rest])
    assert not torch.equal(first[2], second[2])
