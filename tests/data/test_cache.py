import errno
import json
import os
import shutil
import subprocess
import sys
import time

import numpy
import pytest
import torch

from casper.data import ImageFolder, ParquetFolder, cache, cache_directory, load
from casper.data.cache import of_files, of_values
from casper.errors import DataError, ParameterError
from image_files import encoded, picture, write_parquet, write_set


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv("CASPER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path):
    write_set(tmp_path / "set", 4, (3, 2))
    return tmp_path / "set"


def entry_in(directory):
    (entry,) = directory.iterdir()
    return entry


class Counting(ParquetFolder):
    """A source that counts how often it is read."""

    reads = 0

    def read(self):
        Counting.reads += 1
        return super().read()


@pytest.fixture(autouse=True)
def _no_reads():
    Counting.reads = 0


def test_images_labels_names_and_what_is_said_of_them(directory, folder):
    data = load(ParquetFolder(folder))
    assert data.train.images.shape == (12, 3, 8, 8)
    assert data.train.images.dtype == torch.uint8
    assert data.train.labels.tolist() == [0, 1, 2, 3] * 3
    assert data.test.labels.tolist() == [0, 1, 2, 3] * 2
    assert (data.train.images[5].permute(1, 2, 0).numpy() == numpy.asarray(picture(5))).all()
    assert data.class_names == ("class 0", "class 1", "class 2", "class 3")
    assert data.about == f"{folder}: 4 classes with 3 training and 2 test images each, 8x8, colour"
    values = data.train.images.double() / 255
    torch.testing.assert_close(torch.tensor(data.mean).double(), values.mean(dim=(0, 2, 3)), atol=1e-6, rtol=0)
    deviation = values.std(dim=(0, 2, 3), correction=0)
    torch.testing.assert_close(torch.tensor(data.std).double(), deviation, atol=1e-6, rtol=0)


def test_it_is_decoded_once(directory, folder):
    first, second = load(Counting(folder)), load(Counting(folder))
    assert Counting.reads == 1
    assert torch.equal(first.train.images, second.train.images)
    assert first.about == second.about


def test_a_changed_source_is_decoded_again(directory, folder):
    load(Counting(folder))
    write_set(folder, 5)
    assert len(load(Counting(folder)).class_names) == 5
    assert Counting.reads == 2


def test_another_size_or_number_of_channels_is_another_entry(directory, folder):
    assert load(Counting(folder)).train.images.shape[1:] == (3, 8, 8)
    assert load(Counting(folder), image_size=4).train.images.shape[1:] == (3, 4, 4)
    assert load(Counting(folder), channels=1).train.images.shape[1:] == (1, 8, 8)
    assert load(Counting(folder)).train.images.shape[1:] == (3, 8, 8)
    assert Counting.reads == 3


def flip_a_byte(entry):
    path = entry / "train_images.npy"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def change_a_label(entry):
    labels = numpy.load(entry / "test_labels.npy")
    numpy.save(entry / "test_labels.npy", labels[::-1])


def change_facts(entry, key, value):
    checked = json.loads((entry / "facts.json").read_text())
    checked["facts"][key] = value
    (entry / "facts.json").write_text(json.dumps(checked))


def write_header(entry, shape):
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    (entry / "train_images.npy").write_bytes(content)


DAMAGES = {
    "an absurd shape": lambda entry: write_header(entry, (10**300,)),
    "half a shape": lambda entry: write_header(entry, "("),
    "a byte of an image": flip_a_byte,
    "labels": change_a_label,
    "half a file": lambda entry: os.truncate(entry / "train_images.npy", 300),
    "an empty file": lambda entry: os.truncate(entry / "test_images.npy", 0),
    "a missing file": lambda entry: (entry / "test_labels.npy").unlink(),
    "no facts": lambda entry: (entry / "facts.json").unlink(),
    "half the facts": lambda entry: os.truncate(entry / "facts.json", 40),
    "other facts": lambda entry: (entry / "facts.json").write_text("[]"),
    "another class name": lambda entry: change_facts(entry, "class_names", ["x", "class 1", "class 2", "class 3"]),
    "another mean": lambda entry: change_facts(entry, "mean", [0.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_altered_or_half_written_entry_is_rebuilt(damage, directory, folder):
    expected = load(Counting(folder)).train.images.clone()
    DAMAGES[damage](entry_in(directory))
    data = load(Counting(folder))
    assert Counting.reads == 2
    assert torch.equal(data.train.images, expected)
    assert data.test.labels.tolist() == [0, 1, 2, 3] * 2
    load(Counting(folder))
    assert Counting.reads == 2
    entry_in(directory)  # and nothing else is left behind


def test_writing_to_the_tensors_does_not_reach_the_file(directory, folder):
    load(Counting(folder)).train.images.zero_()
    assert load(Counting(folder)).train.images.any()
    assert Counting.reads == 1


def test_colour_among_grey_images(directory, tmp_path):
    for part in ("train", "test"):
        images = [encoded(picture(0, mode="L")), encoded(picture(1))]
        write_parquet(tmp_path / "mixed" / f"{part}.parquet", images, [0, 1])
    data = load(ParquetFolder(tmp_path / "mixed"))
    assert data.train.images.shape == (2, 3, 8, 8)
    assert (data.train.images[0, 1].numpy() == numpy.asarray(picture(0, mode="L"))).all()


def test_a_source_that_cannot_be_used_leaves_nothing_behind(directory, tmp_path):
    write_set(tmp_path / "set", 2)
    write_parquet(
        tmp_path / "set" / "test.parquet", [encoded(picture(0)), b"no image"], [0, 1], names=["class 0", "class 1"]
    )
    with pytest.raises(DataError, match=r"test\.parquet row 1: cannot be read as an image"):
        load(ParquetFolder(tmp_path / "set"))
    assert list(directory.iterdir()) == []


def test_decoded_size_is_limited_before_anything_is_decoded(directory, folder, monkeypatch):
    write_set(folder, 4, (3, 2), size=(16, 16))
    whole = load(ParquetFolder(folder)).train.images.numel()
    monkeypatch.setenv("CASPER_MAX_DECODED_SIZE", "1B")
    assert load(ParquetFolder(folder)).train.images.numel() == whole  # from the cache
    shutil.rmtree(directory)
    monkeypatch.setenv("CASPER_MAX_DECODED_SIZE", f"{whole - 1}B")
    with monkeypatch.context() as patch:
        patch.setattr(cache, "decode", None)
        with pytest.raises(DataError, match=r"\(train\): .* when decoded, more than .* larger --max-decoded-size"):
            load(ParquetFolder(folder))
    assert list(directory.iterdir()) == []
    monkeypatch.setenv("CASPER_MAX_DECODED_SIZE", f"{whole}B")
    assert load(ParquetFolder(folder)).train.images.numel() == whole


def test_several_processes_at_once(directory, folder):
    code = (
        "import sys; from pathlib import Path; from casper.data import ParquetFolder, load\n"
        "data = load(ParquetFolder(Path(sys.argv[1]))); print(int(data.train.images.long().sum()), len(data.test))"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, folder], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    found = [process.communicate(timeout=120)[0] for process in processes]
    expected = load(Counting(folder))
    assert Counting.reads == 0
    assert found == [f"{int(expected.train.images.long().sum())} 8\n"] * 3
    entry_in(directory)


def test_the_first_to_be_whole_wins(directory, folder, monkeypatch):
    decode = cache.decode

    def overtaken(*arguments):
        monkeypatch.setattr(cache, "decode", decode)
        load(Counting(folder))  # another process, quicker than this one
        return decode(*arguments)

    monkeypatch.setattr(cache, "decode", overtaken)
    assert load(Counting(folder)).train.labels.tolist() == [0, 1, 2, 3] * 3
    assert Counting.reads == 2
    entry_in(directory)


def test_what_a_killed_build_left_is_cleared_away_after_a_day(directory, folder):
    load(ParquetFolder(folder))
    entry = entry_in(directory)
    old, young = (entry.with_name(f".{entry.name}.{number}") for number in (1, 2))
    for path in (old, young):
        path.mkdir()
    a_day_ago = time.time() - 25 * 60 * 60
    os.utime(old, (a_day_ago, a_day_ago))
    (entry / "facts.json").unlink()
    load(ParquetFolder(folder))
    assert not old.exists()
    assert young.exists()


def test_a_place_that_cannot_be_written_is_named(folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CASPER_CACHE", str(tmp_path / "file"))
    with pytest.raises(
        DataError, match=r"cannot write the decoded images to .*; set CASPER_CACHE to another directory"
    ):
        load(ParquetFolder(folder))


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("CASPER_CACHE", str(tmp_path / "a"))
    assert cache_directory() == tmp_path / "a"
    monkeypatch.delenv("CASPER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    assert cache_directory() == tmp_path / "b" / "casper"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory().name == "casper"


@pytest.mark.parametrize("options", [{"image_size": 0}, {"image_size": 10**6}, {"channels": 2}])
def test_sizes_that_make_no_sense(options, folder):
    with pytest.raises(ParameterError):
        load(ParquetFolder(folder), **options)


def test_uneven_classes_are_reported(directory, tmp_path):
    for part in ("train", "test"):
        for name, number in (("a", 3), ("b", 1)):
            (tmp_path / part / name).mkdir(parents=True)
            for place in range(number):
                picture(place, mode="L").save(tmp_path / part / name / f"{place}.png")
    about = load(ImageFolder(tmp_path)).about
    assert about.endswith("2 classes with 1 to 3 training and 1 to 3 test images each, 8x8, grey")


def test_facts_are_plain_json(directory, folder):
    load(ParquetFolder(folder))
    facts = json.loads((entry_in(directory) / "facts.json").read_text())
    assert set(facts) == {"facts", "checksum"}
    assert set(facts["facts"]) == {"class_names", "mean", "std", "checksums"}


@pytest.mark.parametrize("make", [lambda path: path.write_text("x"), lambda path: path.symlink_to("nowhere")])
def test_an_entry_that_is_no_directory_is_replaced(make, directory, folder):
    load(Counting(folder))
    entry = entry_in(directory)
    shutil.rmtree(entry)
    make(entry)
    assert len(load(Counting(folder)).train) == 12
    assert entry_in(directory).is_dir()


def test_a_full_disk_is_an_error(directory, folder, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DataError, match=r"cannot write the decoded images to .*: No space left on device"):
        load(ParquetFolder(folder))
    assert list(directory.iterdir()) == []


def test_a_folder_with_a_very_long_name(directory, tmp_path):
    write_set(tmp_path / ("x" * 250), 2)
    assert len(load(ParquetFolder(tmp_path / ("x" * 250))).class_names) == 2


def test_a_build_that_is_removed_by_another_is_no_matter(directory, folder, monkeypatch):
    load(ParquetFolder(folder))
    entry = entry_in(directory)
    (entry.with_name(f".{entry.name}.gone")).symlink_to("nowhere")  # listed, and not there when it is looked at
    (entry / "facts.json").unlink()
    assert len(load(ParquetFolder(folder)).train) == 12


def test_statistics_of_more_images_than_are_counted_at_once():
    images = numpy.random.default_rng(0).integers(0, 256, (2500, 2, 3, 3), dtype=numpy.uint8)
    mean, std = cache._statistics(images)
    numpy.testing.assert_allclose(mean, images.mean(axis=(0, 2, 3)) / 255)
    numpy.testing.assert_allclose(std, images.std(axis=(0, 2, 3)) / 255)


def test_the_way_images_are_stored_is_part_of_an_entrys_name(directory, folder, monkeypatch):
    load(Counting(folder))
    monkeypatch.setattr(cache, "_FORMAT", 99)
    load(Counting(folder))
    assert Counting.reads == 2


def test_dtype_and_shape_are_part_of_the_checksum():
    flat = numpy.zeros(8, dtype=numpy.uint8)
    assert len({cache._checksum(array) for array in (flat, flat.reshape(2, 4), flat.view(numpy.int64))}) == 3


def test_it_is_the_same_for_the_same_files_and_other_for_changed_ones(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"1234")
    os.utime(file, ns=(1, 1))
    first = of_files([file])
    assert of_files([file]) == first
    assert of_files([file], extra=["column"]) != first
    os.utime(file, ns=(1, 2))
    assert of_files([file]) != first
    file.write_bytes(b"12345")
    os.utime(file, ns=(1, 1))
    assert of_files([file]) != first
    other = tmp_path / "b"
    other.write_bytes(b"1234")
    os.utime(other, ns=(1, 1))
    assert of_files([other]) != first


def test_values():
    assert of_values(1, None, "a") == of_values(1, None, "a")
    assert len({of_values(1, None), of_values(1, "None"), of_values(None, 1), of_values("1", None)}) == 4
