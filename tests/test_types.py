from dataclasses import FrozenInstanceError

import pytest
import torch

from casper.errors import ParameterError
from casper.types import Batch, ImageSet, Outputs, Task


def image_set(number=5):
    return ImageSet(torch.arange(number, dtype=torch.uint8)[:, None, None, None], torch.arange(number) * 10)


def test_image_set_has_a_length():
    assert len(image_set(5)) == 5
    assert len(image_set(0)) == 0


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (torch.tensor([3, 0, 3]), [30, 0, 30]),
        (torch.tensor([False, True, False, False, True]), [10, 40]),
        (torch.tensor([], dtype=torch.int64), []),
    ],
)
def test_image_set_rows_keep_image_and_label_together(rows, labels):
    part = image_set()[rows]
    assert isinstance(part, ImageSet)
    assert part.labels.tolist() == labels
    assert (part.images.flatten() * 10).tolist() == labels
    assert part.images.dtype == torch.uint8


def test_image_set_needs_a_label_per_image():
    with pytest.raises(ParameterError, match=r"`labels` must be one per image, 3 in total, but got 2"):
        ImageSet(torch.zeros(3, 1, 1, 1, dtype=torch.uint8), torch.tensor([0, 1]))


def test_image_set_on_the_same_device_is_not_copied():
    images = image_set()
    moved = images.to("cpu")
    assert moved.images is images.images
    assert moved.labels is images.labels


def test_image_set_moves_to_another_device():
    moved = image_set().to("meta")
    assert moved.images.device.type == moved.labels.device.type == "meta"


def test_task_alone_is_a_stream_of_one():
    task = Task(image_set, lambda: image_set(2), (0, 10))
    assert (task.index, task.num_tasks) == (0, 1)


def test_a_tasks_images_are_created_once_on_access():
    made = []

    def make(name):
        made.append(name)
        return image_set()

    task = Task(lambda: make("train"), lambda: make("test"), (0,)).to("cpu")
    assert made == []
    assert task.test is task.test
    assert made == ["test"]
    assert len(task.train) == 5
    assert made == ["test", "train"]


def test_a_task_moves_to_another_device():
    task = Task(image_set, image_set, (0,)).to("meta")
    assert task.train.images.device.type == task.test.labels.device.type == "meta"


def test_outputs_have_no_maps_by_default():
    assert Outputs(torch.zeros(2, 3), torch.zeros(2, 4)).maps == ()


def test_batch_comes_from_the_stream_by_default():
    batch = Batch(torch.zeros(3, 1, 2, 2, dtype=torch.uint8), torch.tensor([0, 1, -1]), torch.zeros(3, 1, 2, 2))
    assert len(batch) == 3
    assert batch.rows is None
    assert batch.columns == {}


@pytest.mark.parametrize(
    ("thing", "attribute"),
    [
        (image_set(), "labels"),
        (Task(image_set, image_set, (0,)), "index"),
        (Outputs(torch.zeros(1, 1), torch.zeros(1, 1)), "logits"),
        (Batch(torch.zeros(1, 1), torch.zeros(1), torch.zeros(1, 1)), "inputs"),
    ],
)
def test_nothing_can_be_reassigned(thing, attribute):
    with pytest.raises(FrozenInstanceError):
        setattr(thing, attribute, None)


def test_owners_tell_past_present_and_future_columns():
    task = Task(image_set, image_set, (4, 1), index=2, num_tasks=4, past=((0,), (5, 3)))
    owners = task.owners(7, torch.device("cpu"))
    assert owners.tolist() == [0, 2, 4, 1, 2, 1, 4]
    assert (owners < 2).nonzero().flatten().tolist() == [0, 3, 5]
    assert (owners > 2).nonzero().flatten().tolist() == [2, 6]


def test_the_classes_seen_so_far_are_counted():
    assert Task(image_set, image_set, (4, 1), past=((0,), (5, 3))).num_seen == 5


def test_owners_computed_in_inference_mode_can_be_used_in_training():
    task = Task(image_set, image_set, (0, 1))
    with torch.inference_mode():
        task.owners(23, torch.device("cpu"))
    weights = torch.ones(23, requires_grad=True)
    (weights * task.owners(23, torch.device("cpu"))).sum().backward()
    assert weights.grad.sum() == 21


def test_a_checksum_tells_images_labels_and_shapes_apart():
    images = torch.arange(64, dtype=torch.uint8).reshape(2, 1, 8, 4)
    labels = torch.tensor([0, 1])
    one = ImageSet(images, labels).checksum()
    assert ImageSet(images.clone(), labels.clone()).checksum() == one
    assert ImageSet(images.permute(0, 1, 3, 2).contiguous().permute(0, 1, 3, 2), labels).checksum() == one
    others = [
        ImageSet(images ^ 1, labels),
        ImageSet(images, labels.flip(0)),
        ImageSet(images.reshape(2, 1, 4, 8), labels),
        ImageSet(images.view(torch.int8), labels),
    ]
    assert len({one, *(other.checksum() for other in others)}) == 5


@pytest.mark.parametrize("rows", [torch.tensor([2, 0]), torch.tensor([True, False, True])])
def test_batch_rows_keep_everything_of_an_item_together(rows):
    images, labels = torch.arange(3, dtype=torch.uint8).view(3, 1, 1, 1), torch.tensor([5, 6, 7])
    batch = Batch(images, labels, images / 10, torch.tensor([30, 40, 50]), {"logits": torch.eye(3)})
    part = batch[rows]
    places = torch.arange(3)[rows]
    assert part.images.flatten().tolist() == places.tolist()
    assert part.labels.tolist() == (places + 5).tolist()
    assert torch.equal(part.inputs, batch.inputs[places])
    assert part.rows.tolist() == (30 + 10 * places).tolist()
    assert torch.equal(part.columns["logits"], torch.eye(3)[places])
    assert Batch(images, labels, images)[rows].rows is None
