from dataclasses import replace

import pytest
import torch

from casper import split_digits
from casper.streams import hold_out, rotated_digits
from casper.streams.validation import held_out_rows


def test_every_class_gives_its_part():
    labels = torch.tensor([3] * 20 + [5] * 40 + [9] * 4)
    marks = held_out_rows(labels, 0.1)
    assert [int(marks[labels == label].sum()) for label in (3, 5, 9)] == [2, 4, 1]
    assert torch.equal(marks, held_out_rows(labels, 0.1))
    places = marks[labels == 5].nonzero().flatten().tolist()
    assert places not in ([0, 1, 2, 3], [36, 37, 38, 39])  # drawn, not cut off


def test_training_images_are_divided_and_test_images_never_made():
    def without_test(number):
        return replace(whole.make_task(number), make_test=lambda: pytest.fail("made the test images"))

    whole = split_digits()
    stream = hold_out(replace(whole, make_task=without_test), 0.1)
    assert (len(stream), stream.num_classes, stream.class_names) == (5, 10, whole.class_names)
    for before, after in zip(whole, stream, strict=True):
        assert after.classes == before.classes
        assert after.past == before.past
        assert len(after.train) + len(after.test) == len(before.train)
        rows = {image.numpy().tobytes() for image in after.train.images}
        held_out = {image.numpy().tobytes() for image in after.test.images}
        assert rows | held_out == {image.numpy().tobytes() for image in before.train.images}
        assert not rows & held_out
        assert set(after.test.labels.tolist()) == set(before.classes)
        assert 0.09 < len(after.test) / len(before.train) < 0.11


def test_a_domain_stream_holds_the_same_images_out_everywhere():
    stream = hold_out(rotated_digits(num_tasks=2), 0.2)
    assert torch.equal(stream[0].test.labels, stream[1].test.labels)
    assert torch.equal(stream[0].train.labels, stream[1].train.labels)


@pytest.mark.parametrize("part", [0.0, 1.0, -0.1, 1.5])
def test_a_part_that_is_none_or_all(part):
    with pytest.raises(ValueError, match="`validation` should be between 0 and 1"):
        hold_out(split_digits(), part)


def test_a_class_of_one_image_cannot_be_divided():
    with pytest.raises(ValueError, match="`validation` should be small enough to leave images of class 4 to train on"):
        held_out_rows(torch.tensor([3, 3, 4]), 0.1)


def test_the_same_images_are_held_out_whatever_the_order_of_classes():
    def held_out(**options):
        stream = hold_out(split_digits(**options), 0.1)
        return {image.numpy().tobytes() for task in stream for image in task.test.images}

    first = held_out()
    assert held_out(class_order="shuffled", seed=1) == first
    assert held_out(class_order=[9, 8, 7, 6, 5, 4, 3, 2, 1, 0], num_tasks=2) == first


def test_the_number_is_rounded():
    assert int(held_out_rows(torch.zeros(19, dtype=torch.long), 0.1).sum()) == 2
    assert int(held_out_rows(torch.zeros(14, dtype=torch.long), 0.1).sum()) == 1
