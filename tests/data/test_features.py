import os
import threading

import pytest
import torch

from casper.data import VectorCache, features
from casper.errors import DataError
from casper.types import ImageSet


class Counting:
    """Computes two numbers for each image, and counts the images."""

    def __init__(self):
        self.seen = 0

    def __call__(self, images):
        self.seen += len(images)
        values = images.float()
        return torch.stack([values.mean(dim=(1, 2, 3)), values.amax(dim=(1, 2, 3))], dim=1).half()


def some(number=30, classes=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(0, 256, (number, 1, 4, 4), generator=generator, dtype=torch.uint8)
    return ImageSet(images, torch.arange(number) % classes)


@pytest.fixture
def count():
    return Counting()


@pytest.fixture
def cache(tmp_path, count, monkeypatch):
    monkeypatch.setattr(features, "_BLOCK", 4)
    return VectorCache(tmp_path / "entry", count)


def test_vectors_are_in_the_order_of_the_images_and_computed_once(cache, count):
    images = some()
    expected = Counting()(images.images)
    assert cache.missing(images) == 30
    assert torch.equal(cache.vectors(images), expected)
    assert (cache.missing(images), count.seen) == (0, 30)
    assert torch.equal(cache.vectors(images), expected)
    assert count.seen == 30


def test_other_tasks_with_the_same_classes_compute_nothing_again(cache, count):
    images = some()
    cache.fill(images)
    part = images[images.labels != 1]
    other_numbers = ImageSet(part.images, 5 - part.labels)
    assert torch.equal(cache.vectors(other_numbers), Counting()(part.images))
    assert count.seen == 30


def test_filling_reports_every_block_and_leaves_out_those_that_exist(cache, count):
    images = some()
    cache.fill(images[images.labels == 0])
    done = []
    cache.fill(images, done.append)
    assert sum(done) == 20
    assert max(done) == 4
    assert count.seen == 30


def test_an_interrupted_fill_continues_with_the_rest(cache, count):
    images, done = some(), []

    def stop(number):
        done.append(number)
        if len(done) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.fill(images, stop)
    assert cache.missing(images) == 30 - sum(done)
    cache.fill(images)
    assert count.seen == 30


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-3], lambda content: b"", lambda content: content[:99] + b"x" + content[100:]]
)
def test_a_damaged_file_is_computed_again(cache, count, tmp_path, damage):
    images = some()
    expected = cache.vectors(images)
    file = sorted((tmp_path / "entry").iterdir())[0]
    file.write_bytes(damage(file.read_bytes()))
    assert torch.equal(cache.vectors(images), expected)
    assert 30 < count.seen <= 34
    assert torch.equal(cache.vectors(images), expected)
    assert count.seen <= 34


def test_a_file_that_cannot_be_replaced_is_named(cache, tmp_path):
    images = some()
    cache.fill(images)
    file = sorted((tmp_path / "entry").iterdir())[0]
    file.unlink()
    file.mkdir()
    with pytest.raises(DataError, match=r"cannot write feature vectors to .*: Is a directory"):
        cache.vectors(images)


def test_what_a_killed_process_left_is_removed_after_a_day(cache, tmp_path):
    images = some()
    cache.fill(images)
    file = sorted((tmp_path / "entry").iterdir())[0]
    left = [file.with_name(f"{file.name}.{digit * 16}.tmp") for digit in "ab"]
    for path in left:
        path.write_bytes(b"half")
    os.utime(left[0], (0, 0))
    file.unlink()
    cache.fill(images)
    assert [path.exists() for path in left] == [False, True]


def test_a_block_with_the_name_of_another_is_computed_again(cache, tmp_path):
    images = some()
    expected = cache.vectors(images)
    one, two = sorted(file for file in (tmp_path / "entry").iterdir() if file.stat().st_size)[:2]
    one.write_bytes(two.read_bytes())
    assert torch.equal(cache.vectors(images), expected)


def test_the_first_file_of_a_block_is_used_by_all(tmp_path, count):
    images = some(4, 1)
    mine = VectorCache(tmp_path, count)

    def meanwhile(images):
        mine.fill(some(4, 1))  # another process computes the block, and is faster
        return torch.full((len(images), 2), 7, dtype=torch.float16)

    assert torch.equal(VectorCache(tmp_path, meanwhile).vectors(images), Counting()(images.images))
    assert len(list(tmp_path.iterdir())) == 1


def test_several_fill_one_cache_at_once(cache, count, tmp_path):
    images = some(200, 5)
    others = [VectorCache(tmp_path / "entry", Counting()) for _ in range(3)]
    threads = [threading.Thread(target=each.fill, args=(images,)) for each in (cache, *others)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = count.seen
    assert torch.equal(cache.vectors(images), Counting()(images.images))
    assert count.seen == seen
    assert not [file for file in (tmp_path / "entry").iterdir() if file.suffix != ".npy"]


def test_no_images(cache):
    assert cache.vectors(some(0)).shape == (0, 2)


def test_a_file_system_without_links(cache, monkeypatch):
    def refuse(source, target):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    images = some()
    assert torch.equal(cache.vectors(images), Counting()(images.images))


def test_a_directory_that_cannot_be_written(tmp_path, count):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"cannot write feature vectors to .*; set CASPER_CACHE to another directory"):
        VectorCache(tmp_path / "file", count).vectors(some())
