import pytest
import torch

from casper import split_digits
from casper.sweeps.shortened import shortened


def test_every_task_keeps_so_many_images_of_its_own():
    stream = split_digits()
    for whole, short in zip(stream, shortened(stream, train=20, test=7), strict=True):
        assert (len(short.train), len(short.test)) == (20, 7)
        for kept, of in ((short.train, whole.train), (short.test, whole.test)):
            there = {(image.numpy().tobytes(), int(label)) for image, label in zip(of.images, of.labels, strict=True)}
            found = {(i.numpy().tobytes(), int(label)) for i, label in zip(kept.images, kept.labels, strict=True)}
            assert found <= there
            assert len(found) == len(kept)
        assert not torch.equal(short.train.images, whole.train.images[:20])  # files may be sorted by class
        assert (short.classes, short.index, short.num_tasks, short.past) == (
            *(whole.classes, whole.index, whole.num_tasks, whole.past),
        )


def test_the_choice_is_the_same_every_time_whatever_else_is_random():
    stream = split_digits()
    first = shortened(stream, train=20, test=7)[1]
    torch.manual_seed(3)
    before = torch.get_rng_state()
    second = shortened(stream, train=20, test=7)[1]
    assert first.train.checksum() == second.train.checksum()
    assert first.test.checksum() == second.test.checksum()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("size", [10**6, 2**40])
def test_where_there_are_fewer_all_are_kept(size):
    stream = split_digits()
    short = shortened(stream, train=size, test=size)[0]
    assert (len(short.train), len(short.test)) == (len(stream[0].train), len(stream[0].test))
