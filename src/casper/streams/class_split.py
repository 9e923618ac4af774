"""Class-incremental streams: a data set cut into tasks of disjoint classes."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from casper.data import DecodedSet
from casper.errors import ParameterError, require
from casper.randomness import named_generator
from casper.streams.stream import TaskStream
from casper.streams.transform import Transform
from casper.types import ImageSet, Task

ClassOrder = Literal["label", "shuffled"] | Sequence[int]


def class_split(
    train: ImageSet,
    test: ImageSet,
    *,
    num_tasks: int,
    transform: Transform,
    class_order: ClassOrder = "label",
    class_names: Sequence[str] | None = None,
    seed: int = 0,
    about: str = "",
) -> TaskStream:
    """Cut a data set into `num_tasks` tasks with the same number of classes C each.

    Labels are renamed to 0..N-1 following the class order, so that task t owns labels, and columns of the logits,
    tC .. (t+1)C - 1.

    Args:
        train: The images to learn from; labels may be any integers.
        test: The images that measure it; the same classes.
        num_tasks: The number of tasks, a divisor of the number of classes.
        transform: How the images are shown to a network.
        class_order: The order in which classes are met: `"label"`: ascending; `"shuffled"`: by the seed; or all labels
            in the order that is wanted.
        class_names: A name for each label, ascending by label. Default: the label itself.
        seed: Determines a shuffled order.
        about: See `TaskStream`.

    Returns:
        The stream.

    Raises:
        ValueError: If the classes do not divide into the tasks, the class order is not a permutation of the labels,
            or a class has no test images.
    """
    labels = train.labels.unique().tolist()  # ascending
    order = _ordered(labels, class_order, seed)
    names = list(class_names or map(str, labels))
    require(len(names) == len(labels), "class_names", f"one per class, {len(labels)} in all", names)
    divides = num_tasks >= 1 and len(order) % num_tasks == 0
    require(divides, "num_tasks", f"a divisor of the number of classes, {len(order)}", num_tasks)
    if missing := sorted(set(labels) - set(test.labels.unique().tolist())):
        raise ParameterError("test", "a set with images of every class", f"none of class {missing}")

    train_places, test_places = _places(train.labels, order), _places(test.labels, order)
    per_task = len(order) // num_tasks

    def make_task(index: int) -> Task:
        classes = tuple(range(index * per_task, (index + 1) * per_task))
        return Task(
            lambda: _of_classes(train, train_places, classes),
            lambda: _of_classes(test, test_places, classes),
            classes,
            index,
            num_tasks,
        )

    channels, height, width = train.images.shape[1:]
    return TaskStream(
        make_task,
        range(num_tasks),
        "class",
        len(order),
        (channels, height, width),
        transform,
        tuple(names[labels.index(label)] for label in order),
        about,
    )


def _ordered(labels: list[int], class_order: ClassOrder, seed: int) -> list[int]:
    if class_order == "label":
        return labels
    if class_order == "shuffled":
        return [labels[place] for place in torch.randperm(len(labels), generator=named_generator(seed, "classes"))]
    permutes = sorted(class_order) == labels
    wanted = f"'label', 'shuffled' or a permutation of the labels {labels}"
    require(permutes, "class_order", wanted, class_order)
    return list(class_order)


def _places(labels: Tensor, order: Sequence[int]) -> Tensor:
    """Look up each label's place in the order, shape (n,); -1: it has none."""
    ascending, place = torch.tensor(order, device=labels.device).sort()
    nearest = torch.searchsorted(ascending, labels).clamp(max=len(order) - 1)
    return torch.where(ascending[nearest] == labels, place[nearest], -1)


def _of_classes(data: ImageSet, places: Tensor, classes: tuple[int, ...]) -> ImageSet:
    """Copy out the images of some classes, which are labelled by their place in the class order."""
    rows = ((places >= classes[0]) & (places <= classes[-1])).nonzero().squeeze(1)
    return ImageSet(data.images, places)[rows]


def split_images(
    data: DecodedSet, transform: Transform, *, num_tasks: int, class_order: ClassOrder = "label", seed: int = 0
) -> TaskStream:
    """Split a data set that was opened with `casper.data.load`; arguments as for `class_split`."""
    return class_split(
        data.train,
        data.test,
        num_tasks=num_tasks,
        transform=transform,
        class_order=class_order,
        class_names=data.class_names,
        seed=seed,
        about=data.about,
    )
