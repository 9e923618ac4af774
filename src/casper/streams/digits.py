"""The bundled streams: scikit-learn's 8x8 handwritten digits, without a download."""

import torch

from casper.errors import require
from casper.randomness import named_generator
from casper.streams.class_split import ClassOrder, class_split
from casper.streams.rotation import random_angles, rotated_stream
from casper.streams.stream import TaskStream
from casper.streams.transform import Transform
from casper.types import ImageSet

# Mean and standard deviation of the training images. Crops move a digit by at most one pixel. No flip: a mirrored digit
# is not a digit.
_TRANSFORM = Transform(mean=(0.3048,), std=(0.3757,), padding=1)


def load_digits() -> tuple[ImageSet, ImageSet]:
    """Load the 1,797 digits and split them by a fixed rule: every third image of a class is used for testing.

    Returns:
        1,201 training and 596 test images of shape (1, 8, 8), labels 0..9.

    Example:
        >>> from casper.streams import load_digits
        >>> train, test = load_digits()
        >>> train.images.shape, len(test)
        (torch.Size([1201, 1, 8, 8]), 596)
    """
    from sklearn import datasets  # imported here: it takes a second, and only these streams need it

    digits = datasets.load_digits()
    images = torch.from_numpy(digits.images)[:, None]  # shape: (n, 1, 8, 8), values 0..16
    labels = torch.from_numpy(digits.target).long()
    everything = ImageSet((images * 255 / 16).round().to(torch.uint8), labels)
    rank_in_class = torch.zeros_like(labels)
    for label in labels.unique():
        members = (labels == label).nonzero().squeeze(1)
        rank_in_class[members] = torch.arange(len(members))
    held_out = rank_in_class % 3 == 2
    return everything[~held_out], everything[held_out]


def split_digits(*, num_tasks: int = 5, class_order: ClassOrder = "label", seed: int = 0) -> TaskStream:
    """Split the bundled digits into 5 tasks of 2 classes: 0 and 1, then 2 and 3, and so on.

    Args:
        num_tasks: The number of tasks, a divisor of 10. Default: 5, the usual split of ten classes.
        class_order: `"label"` (ascending), `"shuffled"` (by the seed), or a list of all digits.
        seed: The seed of a shuffled order.

    Example:
        >>> from casper import split_digits
        >>> stream = split_digits()
        >>> [task.classes for task in stream], stream.image_shape
        ([(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)], (1, 8, 8))
    """
    train, test = load_digits()
    return class_split(train, test, num_tasks=num_tasks, transform=_TRANSFORM, class_order=class_order, seed=seed)


def rotated_digits(*, num_tasks: int = 5, seed: int = 0) -> TaskStream:
    """Rotate all ten bundled digits by one angle per task, drawn from the seed in [0, 180) degrees.

    Args:
        num_tasks: The number of tasks. Default: 5, as in `split_digits`.
        seed: The seed of the angles.

    Example:
        >>> from casper import rotated_digits
        >>> stream = rotated_digits(num_tasks=3)
        >>> stream.scenario, len(stream), stream.num_classes
        ('domain', 3, 10)
    """
    require(num_tasks >= 1, "num_tasks", "at least 1", num_tasks)
    train, test = load_digits()
    angles = random_angles(num_tasks, named_generator(seed, "angles"))
    return rotated_stream(train, test, angles=angles, transform=_TRANSFORM)
