import colorsys
import math

import pytest
import torch
from PIL import Image, ImageEnhance

from casper.streams import strong_view
from casper.streams.strong_augment import (
    change_brightness,
    change_contrast,
    change_saturation,
    greyscale,
    random_boxes,
    resized_crop,
    shift_hue,
)

CHANGES = [change_brightness, change_contrast, change_saturation, shift_hue]


def random_images(n=6, channels=3, height=7, width=5, seed=0):
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


NEVER = torch.zeros(1, dtype=torch.bool)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def literal_crop(image, box, mirrored):
    """Cut the box out, then look up the four neighbours of each pixel of the result in it."""
    _, height, width = image.shape
    top, left, tall, wide = box
    part = image[:, top : top + tall, left : left + wide]
    result = torch.empty_like(image)
    for i in range(height):
        for j in range(width):
            y = min(max((i + 0.5) * tall / height - 0.5, 0), tall - 1)
            x = min(max((j + 0.5) * wide / width - 0.5, 0), wide - 1)
            low_y, low_x = math.floor(y), math.floor(x)
            high_y, high_x = min(low_y + 1, tall - 1), min(low_x + 1, wide - 1)
            down, right = y - low_y, x - low_x
            above = (1 - right) * part[:, low_y, low_x] + right * part[:, low_y, high_x]
            below = (1 - right) * part[:, high_y, low_x] + right * part[:, high_y, high_x]
            result[:, i, width - 1 - j if mirrored else j] = (1 - down) * above + down * below
    return result


@pytest.mark.parametrize("channels", [1, 3])
def test_crops_literally(channels):
    images = random_images(40, channels)
    boxes, mirrored = random_boxes(40, 7, 5, generator(1)), torch.arange(40) % 2 == 1
    found = resized_crop(images, boxes, mirrored)
    for image, box, flip, view in zip(images, boxes.tolist(), mirrored.tolist(), found, strict=True):
        torch.testing.assert_close(view, literal_crop(image, box, flip), rtol=0, atol=2e-6)


def test_a_crop_is_what_pytorch_makes_of_the_box_alone():
    images = random_images(20)
    boxes = random_boxes(20, 7, 5, generator(2))
    found = resized_crop(images, boxes, NEVER.expand(20))
    for image, (top, left, tall, wide), view in zip(images, boxes.tolist(), found, strict=True):
        part = image[None, :, top : top + tall, left : left + wide]
        expected = torch.nn.functional.interpolate(part, (7, 5), mode="bilinear")[0]
        torch.testing.assert_close(view, expected, rtol=0, atol=2e-6)


def test_crops_by_hand():
    image = torch.arange(16.0).view(1, 1, 4, 4) / 16
    box = torch.tensor([[1, 2, 2, 1]])  # rows 1 and 2 of column 2: 6 and 10
    expected = torch.tensor([6, 7, 9, 10])[:, None].expand(4, 4) / 16
    assert torch.equal(resized_crop(image, box, NEVER)[0, 0], expected)
    whole = torch.tensor([[0, 0, 4, 4]])
    assert torch.equal(resized_crop(image, whole, NEVER), image)
    assert torch.equal(resized_crop(image, whole, ~NEVER), image.flip(3))


def test_boxes_lie_in_the_image_with_the_given_areas_and_ratios():
    boxes = random_boxes(20000, 84, 84, generator())
    top, left, tall, wide = boxes.double().unbind(dim=1)
    assert boxes.dtype == torch.int64
    assert min(top.min(), left.min()) >= 0
    assert (top + tall).max() <= 84
    assert (left + wide).max() <= 84
    small = torch.maximum(tall, wide) < 50  # to the first and to the last place
    assert [top[small].min(), (top + tall)[small].max()] == [0, 84]
    assert [left[small].min(), (left + wide)[small].max()] == [0, 84]
    areas, ratios = tall * wide / 84**2, wide / tall
    assert 0.19 < areas.min() < 0.21
    assert 0.98 < areas.max() <= 1
    assert 0.73 < ratios.min() < 0.76
    assert 1.31 < ratios.max() < 1.37


def test_areas_ratios_and_places_are_uniform():
    boxes = random_boxes(20000, 100, 100, generator(3))
    top, left, tall, wide = boxes.double().unbind(dim=1)
    small = tall * wide <= 0.75 * 100**2  # what fits at any ratio is drawn evenly

    def assert_uniform(values, low, high):
        deviation = (high - low) / 12**0.5
        assert abs(values.mean() - (low + high) / 2) < 4 * deviation / len(values) ** 0.5
        assert abs(values.std() / deviation - 1) < 0.03

    assert_uniform((tall * wide / 100**2)[small], 0.2, 0.75)
    assert_uniform((wide / tall).log()[small], math.log(3 / 4), math.log(4 / 3))
    for place, size in ((top, tall), (left, wide)):
        assert_uniform(((place + 0.5) / (101 - size))[size < 60], 0.0, 1.0)


def test_what_fits_is_the_first_attempt_that_does():
    n, height, width = 500, 30, 20
    draws = torch.rand(2, n, 10, generator=generator(4), dtype=torch.float64).tolist()
    boxes = random_boxes(n, height, width, generator(4)).tolist()
    later = 0
    for number, (_, _, tall, wide) in enumerate(boxes):
        for attempt in range(10):
            area = height * width * (0.2 + 0.8 * draws[0][number][attempt])
            ratio = math.exp(math.log(3 / 4) + math.log(16 / 9) * draws[1][number][attempt])
            size = (round(math.sqrt(area / ratio)), round(math.sqrt(area * ratio)))
            if size[0] <= height and size[1] <= width:
                break
        later += attempt > 0
        assert (tall, wide) == size
    assert later > 50


def test_the_whole_image_is_taken_where_nothing_fits():
    assert random_boxes(50, 1, 40, generator()).tolist() == [[0, 0, 1, 40]] * 50
    assert random_boxes(50, 1, 1, generator()).tolist() == [[0, 0, 1, 1]] * 50


def decisions(n, height, width, source):
    """What `strong_view` draws, in its order."""
    boxes = random_boxes(n, height, width, source)
    mirrored = torch.rand(n, generator=source) < 0.5
    jittered = torch.rand(n, generator=source) < 0.8
    amounts = torch.rand(4, n, generator=source)
    greyed = torch.rand(n, generator=source) < 0.2
    return boxes, mirrored, jittered, amounts, greyed


@pytest.mark.parametrize("channels", [1, 3])
def test_every_image_has_separate_draws(channels):
    images = random_images(60, channels)
    found = strong_view(images, generator(5))
    boxes, mirrored, jittered, amounts, greyed = decisions(60, 7, 5, generator(5))
    for place in range(60):
        one = slice(place, place + 1)
        view = resized_crop(images[one], boxes[one], mirrored[one])
        if jittered[place]:
            view = change_brightness(view, 0.6 + 0.8 * amounts[0, one])
            view = change_contrast(view, 0.6 + 0.8 * amounts[1, one])
            view = change_saturation(view, 0.6 + 0.8 * amounts[2, one])
            view = shift_hue(view, -0.1 + 0.2 * amounts[3, one])
        if greyed[place]:
            view = greyscale(view)
        torch.testing.assert_close(found[one], view, rtol=0, atol=1e-6)


def test_how_often_each_happens():
    n = 4000
    # A white left half and a dark right one: no change of colour hides which is which, no crop turns it round. Boxes of
    # one half show one colour.
    images = torch.zeros(n, 3, 8, 8)
    images[..., :4] = 1.0
    views = strong_view(images, generator(6))
    left, right = views[..., 0].mean(dim=(1, 2)), views[..., -1].mean(dim=(1, 2))
    differ = left != right
    assert differ.sum() > n / 2
    assert abs((left < right).sum() - differ.sum() / 2) < 4 * 0.5 * differ.sum() ** 0.5
    orange = torch.tensor([0.6, 0.4, 0.2])[:, None, None].expand(n, 3, 8, 8)  # no crop shows
    views = strong_view(orange, generator(7))
    grey = (views.amax(dim=1) - views.amin(dim=1)).amax(dim=(1, 2)) < 1e-6
    assert abs(grey.sum() - 0.2 * n) < 4 * (0.16 * n) ** 0.5
    same = ((views - orange).abs().amax(dim=(1, 2, 3)) < 1e-5) & ~grey
    assert abs(same.sum() - 0.2 * 0.8 * n) < 4 * (0.16 * 0.84 * n) ** 0.5


def test_white_stays_white():
    images = torch.ones(200, 1, 30, 20)
    views = resized_crop(images, random_boxes(200, 30, 20, generator(11)), NEVER.expand(200))
    assert views.max() == 1
    assert views.min() > 1 - 1e-6


@pytest.mark.parametrize("channels", [1, 3])
def test_strong_views_stay_in_range_and_the_images_as_they_were(channels):
    images = random_images(200, channels, seed=8).round()  # black and white
    before = images.clone()
    views = strong_view(images, generator(8))
    assert views.shape == images.shape
    assert views.dtype == torch.float32
    assert views.min() >= 0
    assert views.max() <= 1
    assert torch.equal(images, before)


def test_the_same_state_gives_the_same_views_and_the_next_one_others():
    images, source = random_images(), generator(9)
    first = strong_view(images, source)
    assert torch.equal(strong_view(images, generator(9)), first)
    assert not torch.equal(strong_view(images, source), first)


def test_nothing_is_drawn_from_the_global_generator():
    state = torch.get_rng_state()
    strong_view(random_images(), generator())
    assert torch.equal(torch.get_rng_state(), state)


def test_a_strong_view_does_not_depend_on_the_other_images():
    images = random_images(20)
    other = images.clone()
    other[7] = other[7] * 0.5
    first, second = strong_view(images, generator(10)), strong_view(other, generator(10))
    rest = torch.arange(20) != 7
    assert torch.equal(first[rest], second[rest])
    assert not torch.equal(first[7], second[7])


def test_images_that_are_not_contiguous_have_the_same_views():
    images = random_images()
    other = images.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    torch.testing.assert_close(strong_view(other, generator()), strong_view(images, generator()))
