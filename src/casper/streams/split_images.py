"""From decoded images to a class-incremental stream."""

from casper.streams.augment import Transform
from casper.streams.class_split import ClassOrder, class_split
from casper.streams.sources import DecodedSet
from casper.streams.stream import TaskStream


def split_images(
    data: DecodedSet, transform: Transform, *, num_tasks: int, class_order: ClassOrder = "label", seed: int = 0
) -> TaskStream:
    """Split a data set that was opened with `sources.load`; arguments as for `class_split`."""
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
