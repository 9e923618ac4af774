"""The streams of the field: CIFAR-10, CIFAR-100, miniImageNet, MNIST and Fashion-MNIST, split or rotated.

Constants as in the experiments of the paper: mean and standard deviation of the training images; crops from a border of
4 zeros and mirrored images for the natural ones; values in [0, 1] and nothing else for the two MNISTs.
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
# From LiDER's code, by the same authors; the paper gives none.
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
    """Split CIFAR-10 into 5 tasks of 2 classes; 5,000 training and 1,000 test images a class, 32x32, colour.

    Args:
        num_tasks: The number of tasks, a divisor of 10.
        class_order: `"label"`, `"shuffled"` by the seed, or the labels in the order in which they are met.
        image_size: The height and width to scale images to. Default: 32, as they are.
        data_dir: Where to look first; see `casper.data.find`.
        seed: Determines a shuffled order.
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
    """Split CIFAR-100 into 10 tasks of 10 classes; 500 training and 100 test images a class, 32x32, colour.

    Arguments as for `split_cifar10`.
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
    """Split miniImageNet into 20 tasks of 5 classes; 500 training and 100 test images a class, 84x84, colour.

    Files that come split are used as they are. A copy without a test split, or in the few-shot form whose splits have
    different classes, is put together and cut: of every class 1 image in 6, drawn with a fixed seed, is for testing.
    Images of other sizes are scaled to 84x84: that size is part of what miniImageNet is.

    Arguments as for `split_cifar10`.
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
    """Split MNIST into 5 tasks of 2 digits; about 6,000 training and 1,000 test images a class, 28x28, grey.

    Arguments as for `split_cifar10`.
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
    """Split Fashion-MNIST into 5 tasks of 2 classes; 6,000 training and 1,000 test images a class, 28x28, grey.

    Arguments as for `split_cifar10`.
    """
    data = _loaded(FASHION_MNIST, data_dir, image_size)
    return split_images(data, _MNIST, num_tasks=num_tasks, class_order=class_order, seed=seed)


def rotated_mnist(
    *, num_tasks: int = 20, image_size: int | None = None, data_dir: str | None = None, seed: int = 0
) -> TaskStream:
    """Show all of MNIST in every one of 20 tasks, rotated by one angle per task, drawn in [0, 180) degrees.

    Training and test images of a task have the same angle; nearest neighbour, zeros outside, on the stored image.

    Args:
        num_tasks: The number of tasks.
        image_size: The height and width to scale images to, before they are rotated. Default: 28, as they are.
        data_dir: Where to look first.
        seed: Determines the angles, in task order.
    """
    require(num_tasks >= 1, "num_tasks", "at least 1", num_tasks)
    data = _loaded(MNIST, data_dir, image_size)
    angles = random_angles(num_tasks, named_generator(seed, "angles"))
    return rotated_stream(
        data.train, data.test, angles=angles, transform=_MNIST, class_names=data.class_names, about=data.about
    )


def scaled(transform: Transform, usual: int, data: DecodedSet) -> Transform:
    """Adapt the border of crops to images of another than the usual size: the same part of the image."""
    return replace(transform, padding=round(transform.padding * data.train.images.shape[-1] / usual))


def _loaded(known: KnownSet, data_dir: str | None, image_size: int | None) -> DecodedSet:
    return load(find(known, data_dir), image_size=image_size, channels=known.channels)
