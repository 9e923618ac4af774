import pytest

from casper.data import ImageFolder
from casper.errors import DataError
from image_files import picture


def save(path, *names):
    path.mkdir(parents=True, exist_ok=True)
    for place, name in enumerate(names):
        picture(place).save(path / name)


def test_train_and_test(tmp_path):
    save(tmp_path / "train" / "cat", "2.png", "1.jpg")
    save(tmp_path / "train" / "dog", "1.PNG")
    save(tmp_path / "test" / "cat", "1.bmp")
    raw = ImageFolder(tmp_path).read()
    assert list(raw.splits["train"].labels) == ["cat", "cat", "dog"]
    assert [raw.splits["train"].place(row) for row in range(3)] == [
        str(tmp_path / "train" / name) for name in ("cat/1.jpg", "cat/2.png", "dog/1.PNG")
    ]
    assert list(raw.splits["test"].labels) == ["cat"]
    assert raw.splits["test"].open(0).size == (8, 8)


def test_a_validation_folder_stands_for_a_test_folder(tmp_path):
    save(tmp_path / "train" / "a", "1.png")
    save(tmp_path / "val" / "a", "1.png")
    assert set(ImageFolder(tmp_path).read().splits) == {"train", "test"}


def test_one_level(tmp_path):
    save(tmp_path / "b", "1.png")
    save(tmp_path / "a", "1.png", "2.png")
    raw = ImageFolder(tmp_path).read()
    assert list(raw.splits) == ["all"]
    assert list(raw.splits["all"].labels) == ["a", "a", "b"]


def test_a_train_folder_alone_has_still_to_be_cut(tmp_path):
    save(tmp_path / "train" / "a", "1.png", "2.png")
    assert list(ImageFolder(tmp_path).read().splits["all"].labels) == ["a", "a"]


def test_folders_may_be_written_with_capitals(tmp_path):
    save(tmp_path / "Train" / "a", "1.png")
    save(tmp_path / "TEST" / "a", "1.png")
    assert set(ImageFolder(tmp_path).read().splits) == {"train", "test"}


def test_files_come_in_the_order_of_their_names(tmp_path, monkeypatch):
    save(tmp_path / "a", *(f"{place:02}.png" for place in range(20)))
    rglob = type(tmp_path).rglob
    monkeypatch.setattr(type(tmp_path), "rglob", lambda self, pattern: reversed(list(rglob(self, pattern))))
    split = ImageFolder(tmp_path).read().splits["all"]
    assert [split.place(row)[-6:-4] for row in range(20)] == [f"{place:02}" for place in range(20)]


def test_images_below_a_class_belong_to_it(tmp_path):
    save(tmp_path / "a" / "holiday", "1.png")
    save(tmp_path / "a", "2.png")
    assert list(ImageFolder(tmp_path).read().splits["all"].labels) == ["a", "a"]


def test_an_empty_class_is_named(tmp_path):
    save(tmp_path / "a", "1.png")
    (tmp_path / "b").mkdir()
    with pytest.raises(DataError, match=f"{tmp_path}/b: no images of this class"):
        ImageFolder(tmp_path)


def test_a_broken_link_is_named(tmp_path):
    save(tmp_path / "a", "1.png")
    (tmp_path / "a" / "2.png").symlink_to("nowhere")
    with pytest.raises(DataError, match=r"2\.png cannot be read: No such file"):
        ImageFolder(tmp_path)


def test_a_class_may_be_called_train(tmp_path):
    save(tmp_path / "train", "1.png")
    save(tmp_path / "car", "1.png")
    assert list(ImageFolder(tmp_path).read().splits["all"].labels) == ["car", "train"]


def test_other_files_are_left_out(tmp_path):
    save(tmp_path / "a", "1.png", ".hidden.png")
    save(tmp_path / ".git", "1.png")
    (tmp_path / "a" / "notes.txt").write_text("no image")
    (tmp_path / "README.md").write_text("no class")
    assert list(ImageFolder(tmp_path).read().splits["all"].labels) == ["a"]


def test_the_fingerprint_follows_the_files(tmp_path):
    save(tmp_path / "a", "1.png")
    first = ImageFolder(tmp_path).fingerprint
    save(tmp_path / "a", "2.png")
    assert ImageFolder(tmp_path).fingerprint != first


@pytest.mark.parametrize("folders", [[], ["train", "test"], ["train/a", "test/a"]])
def test_no_images_is_an_error(folders, tmp_path):
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    with pytest.raises(DataError, match=r"no images of this class|no folders of images"):
        ImageFolder(tmp_path)


def test_no_folder_is_an_error(tmp_path):
    with pytest.raises(
        DataError, match=r"no such directory; expected images in .*/CLASS, or in .*/train/CLASS and .*/test/CLASS"
    ):
        ImageFolder(tmp_path / "nowhere")
