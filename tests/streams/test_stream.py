from dataclasses import FrozenInstanceError, replace

import pytest
import torch

from casper.streams import TaskStream, Transform, split_digits
from casper.types import ImageSet, Task


def make_task(index):
    images = ImageSet(torch.full((2, 1, 1, 1), index, dtype=torch.uint8), torch.tensor([index, index]))
    return Task(lambda: images, lambda: images, (index,), index, 5)


def stream_of(make=make_task):
    return TaskStream(make, range(5), "class", 5, (1, 1, 1), Transform((0.5,), (0.5,)), tuple("abcde"))


def numbers(tasks):
    return [int(task.train.labels[0]) for task in tasks]


def test_length_and_iteration():
    stream = stream_of()
    assert len(stream) == 5
    assert numbers(stream) == [0, 1, 2, 3, 4]
    assert numbers(stream) == [0, 1, 2, 3, 4]
    assert numbers(reversed(stream)) == [4, 3, 2, 1, 0]


@pytest.mark.parametrize(("place", "number"), [(0, 0), (3, 3), (-1, 4), (-5, 0)])
def test_item(place, number):
    task = stream_of()[place]
    assert numbers([task]) == [number]
    assert task.index == number


@pytest.mark.parametrize("place", [5, -6])
def test_item_out_of_range(place):
    with pytest.raises(IndexError):
        stream_of()[place]


@pytest.mark.parametrize("part", [slice(None, 3), slice(1, None), slice(-2, None), slice(None, None, 2), slice(3, 3)])
def test_slice_is_a_stream_of_some_of_the_tasks(part):
    sliced = stream_of()[part]
    assert isinstance(sliced, TaskStream)
    assert numbers(sliced) == [0, 1, 2, 3, 4][part]
    assert len(sliced) == len([0, 1, 2, 3, 4][part])


def test_slice_of_a_slice():
    part = stream_of()[1:][:3]
    assert numbers(part) == [1, 2, 3]
    assert numbers([part[-1]]) == [3]
    with pytest.raises(IndexError):
        part[3]


def test_slice_keeps_what_the_whole_stream_shares():
    stream = stream_of()
    part = stream[:2]
    assert (part.num_classes, part.image_shape, part.scenario) == (5, (1, 1, 1), "class")
    assert part.class_names == stream.class_names
    assert part.transform is stream.transform
    assert len(stream) == 5


def test_tasks_are_created_on_access():
    made = []

    def make(index):
        made.append(index)
        return make_task(index)

    stream = stream_of(make)
    part = stream[1:4]
    assert len(part) == 3
    assert made == []
    assert numbers([part[1]]) == [2]
    assert made == [1, 2]  # the one before it, for its classes
    next(iter(stream))
    assert made == [1, 2, 0]
    assert numbers(stream) == [0, 1, 2, 3, 4]
    assert made == [1, 2, 0, 0, 1, 2, 3, 4]  # whose classes are known is not made for them again
    assert replace(stream, make_task=lambda index: make_task(4 - index))[1].past == ((4,),)


def test_stream_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        stream_of().num_classes = 3


def test_a_slice_is_a_stream_that_counts_from_zero():
    part = split_digits()[2:4]
    assert [(task.index, task.num_tasks, task.classes) for task in part] == [(0, 2, (4, 5)), (1, 2, (6, 7))]
    assert part[-1].index == 1


def test_a_task_knows_the_classes_of_those_before_it():
    assert [task.past for task in stream_of()[:3]] == [(), ((0,),), ((0,), (1,))]
    assert [task.past for task in stream_of()[3:]] == [(), ((3,),)]
    assert split_digits()[-1].past == ((0, 1), (2, 3), (4, 5), (6, 7))
