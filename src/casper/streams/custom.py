"""Streams from any images of one's own: a data set of the hub, a folder, arrays."""

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
    """Split any image-classification data set of the hub, or its parquet files in a data directory.

    Args:
        name: `OWNER/NAME`, or `OWNER/NAME@REVISION`.
        num_tasks: The number of tasks, a divisor of the number of classes.
        class_order: `"label"`, `"shuffled"` by the seed, or the labels in the order in which they are met.
        image_size: The height and width to bring images to. Default: as they are, all of one size.
        channels: 1 or 3, to have them grey or in colour. Default: grey where all are stored so, else colour.
        image_column: The column of images. Default: the only one.
        label_column: The column of labels. Default: the only class label, or the one that is named so.
        test_split: The split to test on. Default: `test`, or `validation` where there is none.
        padding: Width of the border of zeros from which training crops are cut. Default: an eighth of the height.
        flip: Whether training images are mirrored. Default not: a mirrored letter is another letter.
        data_dir: Where to look first.
        seed: Determines a shuffled order.
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

    Without `train` and `test`, 1 image in 6 of every class, drawn with a fixed seed, is for testing. Classes are met in
    the order of their names. Other arguments as for `split_hub`.
    """
    data = load(ImageFolder(Path(path).expanduser()), image_size=image_size, channels=channels)
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
    """Split the arrays `x_train`, `y_train`, `x_test`, `y_test` of a NumPy file. Other arguments as for `split_hub`."""
    data = load(NpzFile(Path(file).expanduser()), image_size=image_size, channels=channels)
    transform = own_transform(data, padding, flip)
    return split_images(data, transform, num_tasks=num_tasks, class_order=class_order, seed=seed)


def own_transform(data: DecodedSet, padding: int | None, flip: bool) -> Transform:
    """Normalise by the images' own mean and deviation; crops come from a border of an eighth unless it is given."""
    height = data.train.images.shape[-2]
    require(padding is None or 0 <= padding <= height, "padding", f"in 0..{height}, the images' height", padding)
    std = tuple(max(value, 1e-3) for value in data.std)  # a channel that never changes
    return Transform(data.mean, std, height // 8 if padding is None else padding, flip)
