import io
import sys
import warnings

import numpy
import pytest
import torch
from PIL import Image, ImageOps

from casper.data import Split
from casper.data.dataset import LabelledSplit
from casper.data.decode import ColourFound, decode, first_layout, inside, open_image
from casper.errors import DataError
from image_files import encoded, picture


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF", "PPM", "AVIF", "JPEG2000"])
def test_the_usual_formats(kind, tmp_path):
    buffer = io.BytesIO()
    picture(3).convert("RGB").save(buffer, kind)
    assert open_image(io.BytesIO(buffer.getvalue())).size == (8, 8)
    (tmp_path / "a").write_bytes(buffer.getvalue())
    with open_image(tmp_path / "a") as image:
        assert image.format == kind


def test_a_program_is_no_image_whatever_it_is_called(tmp_path):
    picture(3).convert("RGB").save(tmp_path / "a.png", "EPS")
    Image.open(tmp_path / "a.png").close()  # Pillow itself would hand it to Ghostscript
    with pytest.raises(Image.UnidentifiedImageError):
        open_image(tmp_path / "a.png")


def test_paths_within_a_folder(tmp_path):
    assert inside([tmp_path], "a/b.png") == (tmp_path / "a" / "b.png").resolve()
    assert inside([tmp_path], "a/../b.png") == (tmp_path / "b.png").resolve()
    assert inside([tmp_path], str(tmp_path / "b.png")) == (tmp_path / "b.png").resolve()
    other = tmp_path.parent / "other"
    assert inside([tmp_path, other], str(other / "c.png")) == (other / "c.png").resolve()
    for name in ("..", "../b.png", "/etc/passwd", f"{tmp_path}-other/b.png", "a/../../b"):
        with pytest.raises(ValueError, match="leads out of"):
            inside([tmp_path], name)


def test_links_are_followed_before_they_are_judged(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert inside([tmp_path / "link"], "a.png") == tmp_path.resolve() / "real" / "a.png"
    assert inside([tmp_path / "link"], str(tmp_path / "real" / "a.png")) == tmp_path.resolve() / "real" / "a.png"
    (tmp_path / "real" / "out.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(ValueError, match="leads out of"):
        inside([tmp_path / "real"], "out.png")


def split_of(images):
    """A split of images, or of bytes that should be some."""
    opened = [lambda data=data: Image.open(io.BytesIO(data)) for data in map(as_bytes, images)]
    part = Split([0] * len(images), lambda row: opened[row](), lambda row: f"set row {row}")
    return LabelledSplit((part,), tuple((0, row) for row in range(len(images))), torch.zeros(len(images)))


def as_bytes(image):
    return image if isinstance(image, bytes) else encoded(image, image.info.get("form", "PNG"))


def decoded(images, image_size=None, channels=None):
    split = split_of(images)
    layout = first_layout(split, image_size, channels)
    array = numpy.zeros((len(images), *layout.shape), dtype=numpy.uint8)
    decode(split, layout, array, "set")
    return array


def planes(image):
    return numpy.asarray(image).transpose(2, 0, 1)


@pytest.mark.parametrize("form", ["PNG", "WEBP", "BMP"])
def test_colour_images_pixel_by_pixel(form):
    images = [picture(seed, (6, 9)) for seed in range(600)]  # more than two turns of a thread
    array = decoded([encoded(image, form) for image in images])
    assert array.shape == (600, 3, 9, 6)
    assert all((array[row] == planes(image)).all() for row, image in enumerate(images))


def test_grey_images_have_one_channel():
    images = [picture(seed, mode="L") for seed in range(3)]
    array = decoded(images)
    assert array.shape == (3, 1, 8, 8)
    assert (array[2, 0] == numpy.asarray(images[2])).all()


def test_grey_among_colour_is_made_colour():
    array = decoded([picture(0), picture(1, mode="L")])
    assert (array[1] == numpy.asarray(picture(1, mode="L"))).all()


def test_colour_among_grey_is_found():
    with pytest.raises(ColourFound):
        decoded([picture(0, mode="L"), picture(1)])


def test_requested_channels():
    assert decoded([picture(0), picture(1)], channels=1).shape == (2, 1, 8, 8)
    assert decoded([picture(0, mode="L"), picture(1)], channels=1).shape == (2, 1, 8, 8)
    assert decoded([picture(0, mode="L")], channels=3).shape == (1, 3, 8, 8)


@pytest.mark.parametrize("mode", ["1", "LA", "P", "RGBA", "CMYK"])
def test_other_ways_to_store_colours(mode):
    image = picture(0).convert(mode)
    form = "TIFF" if mode == "CMYK" else "PNG"
    array = decoded([encoded(image, form)])
    grey = mode in ("1", "LA")
    expected = numpy.asarray(image.convert("L"))[None] if grey else planes(image.convert("RGB"))
    assert (array[0] == expected).all()


def test_sixteen_bits_keep_the_upper_eight():
    values = numpy.random.default_rng(0).integers(0, 65536, (8, 8), dtype=numpy.uint16)
    assert (decoded([encoded(Image.fromarray(values))])[0, 0] == values >> 8).all()


def test_another_size_is_refused_naming_both():
    with pytest.raises(DataError) as caught:
        decoded([picture(0), picture(1), picture(2, (9, 7))])
    assert str(caught.value) == (
        "set row 2: 9x7 pixels, others have 8x8 (set row 0); use --image-size N to scale all to N x N"
    )


def test_an_image_size_scales_and_cuts_in_the_middle():
    wide, small = picture(0, (40, 20)), picture(1, (5, 5))
    array = decoded([wide, small, picture(2, (10, 10))], image_size=10)
    assert array.shape == (3, 3, 10, 10)
    middle = wide.crop((10, 0, 30, 20)).resize((10, 10), Image.Resampling.BILINEAR)
    # At the cut, the pixels beyond it count as well.
    assert (array[0] == planes(middle))[:, :, 1:-1].all()
    assert (array[1] == planes(ImageOps.fit(small, (10, 10), Image.Resampling.BILINEAR))).all()
    assert (array[2] == planes(picture(2, (10, 10)))).all()


def test_halving_averages():
    image = picture(0, (4, 4))
    halved = decoded([image], image_size=2)[0]
    assert abs(halved.mean() - planes(image).mean()) < 12


@pytest.mark.parametrize("form", ["JPEG", "WEBP", "PNG", "TIFF", "MPO"])
@pytest.mark.parametrize("orientation", [1, 3, 5, 6, 7, 8])
def test_a_camera_that_was_turned(form, orientation):
    image = picture(0, (12, 8))
    exif = Image.Exif()
    exif[0x0112] = orientation
    buffer = io.BytesIO()
    options = {"lossless": True} if form == "WEBP" else {"quality": 100} if form in ("JPEG", "MPO") else {}
    image.save(buffer, form, exif=exif, **options)
    expected = planes(ImageOps.exif_transpose(Image.open(io.BytesIO(buffer.getvalue()))).convert("RGB"))
    array = decoded([buffer.getvalue()])
    assert array.shape[2:] == ((12, 8) if orientation >= 5 else (8, 12))
    assert (array[0] == expected).all()


@pytest.mark.parametrize(("mode", "kind"), [("I", numpy.int32), ("F", numpy.float32)])
def test_32_bits_a_pixel_are_refused(mode, kind):
    image = Image.fromarray(numpy.full((8, 8), 200, dtype=kind))
    assert image.mode == mode
    with pytest.raises(DataError, match=f"set row 0: must have 8 or 16 bits per channel, but got 32 .*mode {mode}"):
        decoded([encoded(image, "TIFF")])


def test_pillows_warnings_are_suppressed(recwarn):
    image = picture(0).convert("P")
    buffer = io.BytesIO()
    image.save(buffer, "PNG", transparency=bytes(range(256)))
    decoded([buffer.getvalue()])
    assert not recwarn.list


@pytest.mark.parametrize("broken", [b"", b"no image", encoded(picture(0, (64, 64)))[:500]])
def test_an_image_that_cannot_be_read_is_named(broken):
    with pytest.raises(DataError, match="set row 1: cannot be read as an image"):
        decoded([picture(0, (64, 64)), broken])


def test_the_first_image_may_be_the_broken_one():
    with pytest.raises(DataError, match="set row 0: cannot be read as an image: unknown format"):
        decoded([b"no image"])


def test_large_images_are_decoded_without_a_warning_and_enormous_ones_are_one_line(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 50)  # 8 x 8 is larger; Pillow refuses what is twice as large
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert decoded([picture(0), picture(1)]).shape == (2, 3, 8, 8)
        with pytest.raises(DataError, match=r"set row 0: cannot be read as an image: .* could be decompression bomb"):
            decoded([picture(0, (16, 16))])


def test_one_image_larger_than_the_limit_is_not_decoded_even_to_be_scaled(monkeypatch):
    monkeypatch.setenv("CASPER_MAX_DECODED_SIZE", "1KB")
    assert decoded([picture(0, (16, 16))], image_size=4).shape == (1, 3, 4, 4)
    with pytest.raises(DataError, match=r"^set row 1: one image: 3.072 KB when decoded, more than 1KB"):
        decoded([picture(0), picture(0, (32, 32))], image_size=4)


def test_an_error_without_a_message_is_named(monkeypatch):
    split = split_of([picture(0)])
    monkeypatch.setattr(Image.Image, "convert", lambda *_: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(DataError, match="set row 0: cannot be read as an image: MemoryError"):
        decode(split, first_layout(split, None, None), numpy.zeros((1, 3, 8, 8), numpy.uint8), "set")


def test_the_progress_bar_prints_no_control_characters(monkeypatch, capsys):
    split = split_of([picture(0)])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    decode(split, first_layout(split, None, None), numpy.zeros((1, 3, 8, 8), numpy.uint8), "set\x1b]0;title\x07")
    shown = capsys.readouterr().err
    assert "decoding set?]0;title?" in shown
    assert "\x1b]" not in shown
