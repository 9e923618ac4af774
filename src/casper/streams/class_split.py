"""Class-incremental streams: a data set split into tasks of disjoint classes."""

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
    """Split a data set into `num_tasks` tasks with the same number of classes C each.

    Labels are renumbered to 0..N-1 in the class order, so that task t has the labels, and the columns of the logits,
    tC .. (t+1)C - 1.

    Args:
        train: The training images; labels may be any integers.
        test: The test images, of the same classes.
        num_tasks: The number of tasks, a divisor of the number of classes.
        transform: Converts images to network inputs.
        class_order: The order in which classes arrive: `"label"` (ascending), `"shuffled"` (by the seed), or a list
            of all labels.
        class_names: A name for each label, ascending by label. Default: the label as text.
        seed: The seed of a shuffled order.
        about: See `TaskStream`.

    Returns:
        The stream.

    Raises:
        ParameterError: If the number of tasks does not divide the number of classes, the class order is not a
            permutation of the labels, or a class has no test images.

    Example:
        >>> import torch
        >>> from casper import ImageSet, Transform, class_split
        >>> data = ImageSet(torch.zeros(8, 1, 4, 4, dtype=torch.uint8), torch.arange(8) % 4)
        >>> transform = Transform(mean=(0.5,), std=(0.5,))
        >>> stream = class_split(data, data, num_tasks=2, transform=transform, class_order=[3, 1, 0, 2])
        >>> [task.classes for task in stream], stream.class_names
        ([(0, 1), (2, 3)], ('3', '1', '0', '2'))
    """
    labels = train.labels.unique().tolist()  # ascending
    order = _ordered(labels, class_order, seed)
    names = list(class_names or map(str, labels))
    require(len(names) == len(labels), "class_names", f"one per class, {len(labels)} in total", names)
    divides = num_tasks >= 1 and len(order) % num_tasks == 0
    require(divides, "num_tasks", f"a divisor of the number of classes, {len(order)}", num_tasks)
    if missing := sorted(set(labels) - set(test.labels.unique().tolist())):
        raise ParameterError("test", "a set with images of every class", f"no images of the classes {missing}")

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
    """Return the position of each label in the order, shape (n,); -1 for labels that are not in it."""
    ascending, place = torch.tensor(order, device=labels.device).sort()
    nearest = torch.searchsorted(ascending, labels).clamp(max=len(order) - 1)
    return torch.where(ascending[nearest] == labels, place[nearest], -1)


def _of_classes(data: ImageSet, places: Tensor, classes: tuple[int, ...]) -> ImageSet:
    """Copy the images of some classes, labelled by the position of their class in the order."""
    rows = ((places >= classes[0]) & (places <= classes[-1])).nonzero().squeeze(1)
    return ImageSet(data.images, places)[rows]


def split_images(
    data: DecodedSet, transform: Transform, *, num_tasks: int, class_order: ClassOrder = "label", seed: int = 0
) -> TaskStream:
    """Split a data set returned by `casper.data.load`.

    Args:
        data: The data set.
        transform: Converts images to network inputs.
        num_tasks: The number of tasks, a divisor of the number of classes.
        class_order: See `class_split`.
        seed: The seed of a shuffled order.

    Example:
        >>> import torch
        >>> from casper import ImageSet, Transform, split_images
        >>> from casper.data import DecodedSet
        >>> images = ImageSet(torch.zeros(4, 1, 8, 8, dtype=torch.uint8), torch.arange(4) % 2)
        >>> data = DecodedSet(images, images, ("cat", "dog"), (0.5,), (0.5,), "cats and dogs")
        >>> split_images(data, Transform(data.mean, data.std), num_tasks=2).class_names
        ('cat', 'dog')
    """
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
