import numpy
import pytest
import torch

from casper.errors import DataError, ParameterError
from casper.streams import split_folder, split_hub, split_npz
from image_files import picture, write_set


def make_folder(path, classes="abcd", number=6, size=(16, 16)):
    for name in classes:
        (path / name).mkdir(parents=True)
        for place in range(number):
            picture(place + ord(name), size).save(path / name / f"{place}.png")
    return path


def test_a_folder(tmp_path):
    for part in ("train", "test"):
        make_folder(tmp_path / part, number=2)
    stream = split_folder(str(tmp_path), num_tasks=2)
    assert len(stream) == 2
    assert stream.class_names == ("a", "b", "c", "d")
    assert (len(stream[0].train), len(stream[0].test)) == (4, 4)
    assert (stream[0].train.images[0].permute(1, 2, 0).numpy() == numpy.asarray(picture(ord("a"), (16, 16)))).all()


def test_a_folder_of_one_level_is_cut(tmp_path):
    stream = split_folder(str(make_folder(tmp_path)), num_tasks=4)
    assert [(len(task.train), len(task.test)) for task in stream] == [(5, 1)] * 4


def test_views_are_normalised_by_the_images_themselves_and_cropped_from_an_eighth(tmp_path):
    make_folder(tmp_path)
    stream = split_folder(str(tmp_path), num_tasks=1)
    assert (stream.transform.padding, stream.transform.flip) == (2, False)
    views = stream.transform.test(stream[0].train.images)
    torch.testing.assert_close(views.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-4, rtol=0)
    torch.testing.assert_close(views.std(dim=(0, 2, 3)), torch.ones(3), atol=1e-2, rtol=0)
    stream = split_folder(str(tmp_path), num_tasks=1, padding=0, flip=True, image_size=8, channels=1)
    assert (stream.transform.padding, stream.transform.flip, stream.image_shape) == (0, True, (1, 8, 8))


def test_images_that_never_change_are_finite(tmp_path):
    images = numpy.full((4, 8, 8), 7, dtype=numpy.uint8)
    numpy.savez(tmp_path / "flat.npz", x_train=images, y_train=[0, 1, 0, 1], x_test=images, y_test=[0, 1, 0, 1])
    stream = split_npz(str(tmp_path / "flat.npz"), num_tasks=2)
    assert stream.transform.test(stream[0].train.images).isfinite().all()


def test_arrays(tmp_path):
    images = numpy.random.default_rng(0).integers(0, 256, (12, 8, 8), dtype=numpy.uint8)
    labels = numpy.array([5, 700, -3] * 4)
    arrays = {"x_train": images, "y_train": labels, "x_test": images[:3], "y_test": labels[:3]}
    numpy.savez_compressed(tmp_path / "own.npz", **arrays)
    stream = split_npz(str(tmp_path / "own.npz"), num_tasks=3)
    assert stream.class_names == ("-3", "5", "700")
    assert (stream[2].train.images[:, 0].numpy() == images[1::3]).all()


def test_a_hub_name_found_locally(tmp_path):
    write_set(tmp_path / "pets", 4, image="photo", label="kind")
    stream = split_hub("owner/pets", num_tasks=4, data_dir=str(tmp_path), image_column="photo", label_column="kind")
    assert len(stream) == 4
    assert stream.class_names[3] == "class 3"


def test_a_test_split_by_name(tmp_path):
    write_set(tmp_path / "pets", 4, (3, 2))
    (tmp_path / "pets" / "held_out.parquet").write_bytes((tmp_path / "pets" / "train.parquet").read_bytes())
    stream = split_hub("owner/pets", num_tasks=1, data_dir=str(tmp_path), test_split="held_out")
    assert (len(stream[0].train), len(stream[0].test)) == (12, 12)


def test_a_border_is_an_eighth_of_the_height(tmp_path):
    make_folder(tmp_path, size=(48, 16))
    assert split_folder(str(tmp_path), num_tasks=1).transform.padding == 2


def test_a_path_from_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    make_folder(tmp_path / "pets")
    assert len(split_folder("~/pets", num_tasks=2)) == 2
    images, labels = numpy.zeros((4, 8, 8), dtype=numpy.uint8), [0, 1, 0, 1]
    numpy.savez(tmp_path / "own.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    assert len(split_npz("~/own.npz", num_tasks=2)) == 2


def test_a_shuffled_order(tmp_path):
    make_folder(tmp_path, "abcdefgh", 2)
    orders = {
        split_folder(str(tmp_path), num_tasks=8, class_order="shuffled", seed=seed).class_names for seed in (1, 2)
    }
    assert len(orders) == 2
    chosen = split_folder(str(tmp_path), num_tasks=2, class_order=[7, 6, 5, 4, 3, 2, 1, 0])
    assert chosen.class_names == tuple("hgfedcba")


def test_complaints(tmp_path):
    make_folder(tmp_path)
    with pytest.raises(ParameterError, match="a divisor of the number of classes, 4"):
        split_folder(str(tmp_path), num_tasks=3)
    with pytest.raises(ParameterError, match=r"`padding` must be in \[0, 16\]"):
        split_folder(str(tmp_path), num_tasks=2, padding=-1)
    with pytest.raises(DataError, match="no such directory"):
        split_folder(str(tmp_path / "nowhere"), num_tasks=2)
