import io

import pytest
from PIL import Image

from casper.streams.sources.image_file import inside, open_image
from image_files import picture


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
