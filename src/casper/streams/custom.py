"""Streams from custom images: a data set of the Hugging Face hub, a folder, a NumPy file."""

import os
from pathlib import Path

from casper.data import DecodedSet, ImageFolder, NpzFile, find_on_hub, load
from casper.errors import require
from casper.streams.class_split import ClassOrder, split_images
from casper.streams.stream import TaskStream
from casper.streams.transform import Transform


def split_hub(
    name: str,
    *,
    num_tasks: int,
    class_order: ClassOrder = "label",
    image_size: int | None = None,
    channels: int | None = None,
    image_column: str | None = None,
    label_column: str | None = None,
    test_split: str | None = None,
    padding: int | None = None,
    flip: bool = False,
    data_dir: str | None = None,
    seed: int = 0,
) -> TaskStream:
    """Split an image-classification data set of the Hugging Face hub, or its parquet files in a data directory.

    Args:
        name: `OWNER/NAME`, or `OWNER/NAME@REVISION`.
        num_tasks: The number of tasks, a divisor of the number of classes.
        class_order: `"label"` (ascending), `"shuffled"` (by the seed), or a list of all labels.
        image_size: The height and width to scale images to. Default: unchanged; all must have the same size.
        channels: 1 for greyscale or 3 for colour. Default: greyscale if all images are, else colour.
        image_column: The column of images. Default: the only one.
        label_column: The column of labels. Default: the only class label, or a column with a usual name.
        test_split: The split for testing. Default: `test`, or `validation` if there is no `test`.
        padding: The width of the zero border from which training crops are cut. Default: an eighth of the height.
        flip: Whether to mirror training images at random. Off by default: a mirrored letter is another letter.
        data_dir: The directory to search before the hub.
        seed: The seed of a shuffled order.

    Example:
        Needs the network on the first call, or the files in `CASPER_DATA/mnist`:

        >>> from casper import split_hub
        >>> stream = split_hub("ylecun/mnist", num_tasks=5)
        >>> len(stream), stream.num_classes
        (5, 10)
    """
    source = find_on_hub(name, data_dir, image_column=image_column, label_column=label_column, test=test_split)
    data = load(source, image_size=image_size, channels=channels)
    transform = own_transform(data, padding, flip)
    return split_images(data, transform, num_tasks=num_tasks, class_order=class_order, seed=seed)


def split_folder(
    path: str,
    *,
    num_tasks: int,
    class_order: ClassOrder = "label",
    image_size: int | None = None,
    channels: int | None = None,
    padding: int | None = None,
    flip: bool = False,
    seed: int = 0,
) -> TaskStream:
    """Split a folder of images, `PATH/{train,test}/CLASS/*.png` or `PATH/CLASS/*.png`.

    Without `train` and `test`, one image in six of every class, drawn with a fixed seed, is used for testing. Classes
    are numbered in the order of their names.

    Args:
        path: The folder.
        num_tasks: The number of tasks, a divisor of the number of classes.
        class_order: `"label"` (ascending), `"shuffled"` (by the seed), or a list of all labels.
        image_size: The height and width to scale images to. Default: unchanged; all must have the same size.
        channels: 1 for greyscale or 3 for colour. Default: greyscale if all images are, else colour.
        padding: The width of the zero border from which training crops are cut. Default: an eighth of the height.
        flip: Whether to mirror training images at random. Off by default: a mirrored letter is another letter.
        seed: The seed of a shuffled order.

    Example:
        >>> import os, tempfile
        >>> from PIL import Image
        >>> from casper import split_folder
        >>> with tempfile.TemporaryDirectory() as path:
        ...     os.environ["CASPER_CACHE"] = f"{path}/.cache"  # only here, to leave no files behind
        ...     for name in ["cat", "dog"]:
        ...         os.makedirs(f"{path}/{name}")
        ...         for number in range(6):
        ...             Image.new("RGB", (8, 8)).save(f"{path}/{name}/{number}.png")
        ...     stream = split_folder(path, num_tasks=2)
        ...     len(stream[0].train), len(stream[0].test), stream.class_names
        ...     _ = os.environ.pop("CASPER_CACHE")
        (5, 1, ('cat', 'dog'))
    """
    data = load(ImageFolder(Path(os.path.expanduser(path))), image_size=image_size, channels=channels)
    transform = own_transform(data, padding, flip)
    return split_images(data, transform, num_tasks=num_tasks, class_order=class_order, seed=seed)


def split_npz(
    file: str,
    *,
    num_tasks: int,
    class_order: ClassOrder = "label",
    image_size: int | None = None,
    channels: int | None = None,
    padding: int | None = None,
    flip: bool = False,
    seed: int = 0,
) -> TaskStream:
    """Split the arrays `x_train`, `y_train`, `x_test`, `y_test` of a NumPy file.

    Images are uint8 of shape (n, h, w), (n, h, w, 1) or (n, h, w, 3).

    Args:
        file: The path of the `.npz` file.
        num_tasks: The number of tasks, a divisor of the number of classes.
        class_order: `"label"` (ascending), `"shuffled"` (by the seed), or a list of all labels.
        image_size: The height and width to scale images to. Default: unchanged; all must have the same size.
        channels: 1 for greyscale or 3 for colour. Default: greyscale if all images are, else colour.
        padding: The width of the zero border from which training crops are cut. Default: an eighth of the height.
        flip: Whether to mirror training images at random. Off by default: a mirrored letter is another letter.
        seed: The seed of a shuffled order.

    Example:
        >>> import os, tempfile
        >>> import numpy
        >>> from casper import split_npz
        >>> images, labels = numpy.zeros((8, 16, 16), dtype=numpy.uint8), numpy.arange(8) % 4
        >>> with tempfile.TemporaryDirectory() as path:
        ...     os.environ["CASPER_CACHE"] = f"{path}/cache"  # only here, to leave no files behind
        ...     numpy.savez(f"{path}/data.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
        ...     stream = split_npz(f"{path}/data.npz", num_tasks=2)
        ...     len(stream), stream.image_shape
        ...     _ = os.environ.pop("CASPER_CACHE")
        (2, (1, 16, 16))
    """
    data = load(NpzFile(Path(os.path.expanduser(file))), image_size=image_size, channels=channels)
    transform = own_transform(data, padding, flip)
    return split_images(data, transform, num_tasks=num_tasks, class_order=class_order, seed=seed)


def own_transform(data: DecodedSet, padding: int | None, flip: bool) -> Transform:
    """Create a transform with the mean and deviation of the images; the default padding is an eighth of the height."""
    height = data.train.images.shape[-2]
    require(padding is None or 0 <= padding <= height, "padding", f"in [0, {height}]", padding)
    std = tuple(max(value, 1e-3) for value in data.std)  # avoids division by 0 for a constant channel
    return Transform(data.mean, std, height // 8 if padding is None else padding, flip)
