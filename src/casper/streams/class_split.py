"""Class-incremental streams: a data set cut into tasks of disjoint classes."""

from collections.abc import Sequence

import torch

from casper.errors import ParameterError, require
from casper.streams.augment import Transform
from casper.streams.stream import TaskStream
from casper.types import ImageSet, Task


def class_split(
    train: ImageSet,
    test: ImageSet,
    *,
    num_tasks: int,
    transform: Transform,
    class_order: Sequence[int] | None = None,
    class_names: Sequence[str] | None = None,
) -> TaskStream:
    """Cut a data set into `num_tasks` tasks with the same number of classes C each.

    Labels are renamed to 0..N-1 following the class order, so that task t owns labels, and columns of the logits,
    tC .. (t+1)C - 1.

    Args:
        train: The images to learn from; labels may be any integers.
        test: The images that measure it; the same classes.
        num_tasks: The number of tasks, a divisor of the number of classes.
        transform: How the images are shown to a network.
        class_order: All labels in the order in which they are met. Default: ascending.
        class_names: A name for each label, ascending by label. Default: the label itself.

    Returns:
        The stream.

    Raises:
        ValueError: If the classes do not divide into the tasks, the class order is not a permutation of the labels,
            or a class has no test images.
    """
    labels = train.labels.unique().tolist()  # ascending
    order = list(class_order) if class_order is not None else labels
    names = list(class_names or map(str, labels))
    require(len(names) == len(labels), "class_names", f"one per class, {len(labels)} in all", names)
    divides = num_tasks >= 1 and len(order) % num_tasks == 0
    require(sorted(order) == labels, "class_order", f"a permutation of the labels {labels}", order)
    require(divides, "num_tasks", f"a divisor of the number of classes, {len(order)}", num_tasks)
    if missing := sorted(set(labels) - set(test.labels.tolist())):
        raise ParameterError("test", "a set with images of every class", f"none of class {missing}")

    train, test = _renamed(train, order), _renamed(test, order)
    per_task = len(order) // num_tasks

    def make_task(index: int) -> Task:
        classes = tuple(range(index * per_task, (index + 1) * per_task))
        return Task(_of_classes(train, classes), _of_classes(test, classes), classes, index, num_tasks)

    channels, height, width = train.images.shape[1:]
    return TaskStream(
        make_task,
        range(num_tasks),
        "class",
        len(order),
        (channels, height, width),
        transform,
        tuple(names[labels.index(label)] for label in order),
    )


def _renamed(images: ImageSet, order: Sequence[int]) -> ImageSet:
    """Give every class its place in the order as its label; images of other classes are left out."""
    place = {label: index for index, label in enumerate(order)}
    labels = torch.tensor([place.get(label, -1) for label in images.labels.tolist()], device=images.labels.device)
    return ImageSet(images.images, labels)[labels >= 0]


def _of_classes(images: ImageSet, classes: tuple[int, ...]) -> ImageSet:
    return images[(images.labels >= classes[0]) & (images.labels <= classes[-1])]
