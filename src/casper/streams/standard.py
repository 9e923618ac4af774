"""The standard streams: CIFAR-10, CIFAR-100, miniImageNet, MNIST and Fashion-MNIST, split or rotated.

The constants are those of the paper's experiments: mean and standard deviation of the training images; random crops
with a padding of 4 and random flips for natural images; for MNIST and Fashion-MNIST, only scaling to [0, 1].
"""

from dataclasses import replace

from casper.data import CIFAR10, CIFAR100, FASHION_MNIST, MINI_IMAGENET, MNIST, DecodedSet, KnownSet, find, load
from casper.errors import require
from casper.randomness import named_generator
from casper.streams.class_split import ClassOrder, split_images
from casper.streams.rotation import random_angles, rotated_stream
from casper.streams.stream import TaskStream
from casper.streams.transform import Transform

_CIFAR10 = Transform((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2615), padding=4, flip=True)
_CIFAR100 = Transform((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761), padding=4, flip=True)
# From the code of LiDER, by the same authors; the paper gives no values.
_MINI_IMAGENET = Transform(
    (0.47313006, 0.44905752, 0.40378186), (0.27292014, 0.26559181, 0.27953038), padding=4, flip=True
)
_MNIST = Transform((0.0,), (1.0,))


def split_cifar10(
    *,
    num_tasks: int = 5,
    class_order: ClassOrder = "label",
    image_size: int | None = None,
    data_dir: str | None = None,
    seed: int = 0,
) -> TaskStream:
    """Split CIFAR-10 into 5 tasks of 2 classes; 5,000 training and 1,000 test images per class, 32x32, colour.

    Args:
        num_tasks: The number of tasks, a divisor of 10.
        class_order: `"label"` (ascending), `"shuffled"` (by the seed), or a list of all labels.
        image_size: The height and width to scale images to. Default: 32.
        data_dir: The directory to search first; see `casper.data.find`.
        seed: The seed of a shuffled order.

    Example:
        Needs the data in `data_dir` or in `CASPER_DATA`, or the network on the first call:

        >>> from casper import split_cifar10
        >>> stream = split_cifar10()
        >>> len(stream), stream.num_classes
        (5, 10)
    """
    data = _loaded(CIFAR10, data_dir, image_size)
    return split_images(data, scaled(_CIFAR10, 32, data), num_tasks=num_tasks, class_order=class_order, seed=seed)


def split_cifar100(
    *,
    num_tasks: int = 10,
    class_order: ClassOrder = "label",
    image_size: int | None = None,
    data_dir: str | None = None,
    seed: int = 0,
) -> TaskStream:
    """Split CIFAR-100 into 10 tasks of 10 classes; 500 training and 100 test images per class, 32x32, colour.

    Args:
        num_tasks: The number of tasks, a divisor of 100.
        class_order: `"label"` (ascending), `"shuffled"` (by the seed), or a list of all labels.
        image_size: The height and width to scale images to. Default: 32.
        data_dir: The directory to search first; see `casper.data.find`.
        seed: The seed of a shuffled order.

    Example:
        Needs the data in `data_dir` or in `CASPER_DATA`, or the network on the first call:

        >>> from casper import split_cifar100
        >>> stream = split_cifar100()
        >>> len(stream), stream.num_classes
        (10, 100)
    """
    data = _loaded(CIFAR100, data_dir, image_size)
    return split_images(data, scaled(_CIFAR100, 32, data), num_tasks=num_tasks, class_order=class_order, seed=seed)


def split_mini_imagenet(
    *,
    num_tasks: int = 20,
    class_order: ClassOrder = "label",
    image_size: int | None = None,
    data_dir: str | None = None,
    seed: int = 0,
) -> TaskStream:
    """Split miniImageNet into 20 tasks of 5 classes; 500 training and 100 test images per class, 84x84, colour.

    An existing split into training and test files is used. A copy without a test split, or in the few-shot form whose
    splits have different classes, is joined and split again: one image in six of every class, drawn with a fixed seed,
    is used for testing. Images of other sizes are scaled to 84x84, the standard size of miniImageNet.

    Args:
        num_tasks: The number of tasks, a divisor of 100.
        class_order: `"label"` (ascending), `"shuffled"` (by the seed), or a list of all labels.
        image_size: The height and width to scale images to. Default: 84.
        data_dir: The directory to search first; see `casper.data.find`.
        seed: The seed of a shuffled order.

    Example:
        Needs the data in `data_dir` or in `CASPER_DATA`, or the network on the first call:

        >>> from casper import split_mini_imagenet
        >>> stream = split_mini_imagenet()
        >>> len(stream), stream.num_classes
        (20, 100)
    """
    data = _loaded(MINI_IMAGENET, data_dir, 84 if image_size is None else image_size)
    transform = scaled(_MINI_IMAGENET, 84, data)
    return split_images(data, transform, num_tasks=num_tasks, class_order=class_order, seed=seed)


def split_mnist(
    *,
    num_tasks: int = 5,
    class_order: ClassOrder = "label",
    image_size: int | None = None,
    data_dir: str | None = None,
    seed: int = 0,
) -> TaskStream:
    """Split MNIST into 5 tasks of 2 digits; about 6,000 training and 1,000 test images per class, 28x28, grey.

    Args:
        num_tasks: The number of tasks, a divisor of 10.
        class_order: `"label"` (ascending), `"shuffled"` (by the seed), or a list of all labels.
        image_size: The height and width to scale images to. Default: 28.
        data_dir: The directory to search first; see `casper.data.find`.
        seed: The seed of a shuffled order.

    Example:
        Needs the data in `data_dir` or in `CASPER_DATA`, or the network on the first call:

        >>> from casper import split_mnist
        >>> stream = split_mnist()
        >>> len(stream), stream.num_classes
        (5, 10)
    """
    data = _loaded(MNIST, data_dir, image_size)
    return split_images(data, _MNIST, num_tasks=num_tasks, class_order=class_order, seed=seed)


def split_fashion_mnist(
    *,
    num_tasks: int = 5,
    class_order: ClassOrder = "label",
    image_size: int | None = None,
    data_dir: str | None = None,
    seed: int = 0,
) -> TaskStream:
    """Split Fashion-MNIST into 5 tasks of 2 classes; 6,000 training and 1,000 test images per class, 28x28, grey.

    Args:
        num_tasks: The number of tasks, a divisor of 10.
        class_order: `"label"` (ascending), `"shuffled"` (by the seed), or a list of all labels.
        image_size: The height and width to scale images to. Default: 28.
        data_dir: The directory to search first; see `casper.data.find`.
        seed: The seed of a shuffled order.

    Example:
        Needs the data in `data_dir` or in `CASPER_DATA`, or the network on the first call:

        >>> from casper import split_fashion_mnist
        >>> stream = split_fashion_mnist()
        >>> len(stream), stream.num_classes
        (5, 10)
    """
    data = _loaded(FASHION_MNIST, data_dir, image_size)
    return split_images(data, _MNIST, num_tasks=num_tasks, class_order=class_order, seed=seed)


def rotated_mnist(
    *, num_tasks: int = 20, image_size: int | None = None, data_dir: str | None = None, seed: int = 0
) -> TaskStream:
    """Rotate all of MNIST by one angle per task in 20 tasks; the angles are drawn in [0, 180) degrees.

    Training and test images of a task have the same angle. The stored images are rotated, with nearest-neighbour
    sampling and zeros outside.

    Args:
        num_tasks: The number of tasks.
        image_size: The height and width to scale images to before the rotation. Default: 28.
        data_dir: The directory to search first; see `casper.data.find`.
        seed: The seed of the angles, which are drawn in task order.

    Example:
        Needs MNIST in `data_dir` or in `CASPER_DATA`, or the network on the first call:

        >>> from casper import rotated_mnist
        >>> stream = rotated_mnist(num_tasks=5)
        >>> len(stream), stream.num_classes
        (5, 10)
    """
    require(num_tasks >= 1, "num_tasks", "at least 1", num_tasks)
    data = _loaded(MNIST, data_dir, image_size)
    angles = random_angles(num_tasks, named_generator(seed, "angles"))
    return rotated_stream(
        data.train, data.test, angles=angles, transform=_MNIST, class_names=data.class_names, about=data.about
    )


def scaled(transform: Transform, usual: int, data: DecodedSet) -> Transform:
    """Scale the padding of crops in proportion to the image size; `usual` is the standard size."""
    return replace(transform, padding=round(transform.padding * data.train.images.shape[-1] / usual))


def _loaded(known: KnownSet, data_dir: str | None, image_size: int | None) -> DecodedSet:
    return load(find(known, data_dir), image_size=image_size, channels=known.channels)
