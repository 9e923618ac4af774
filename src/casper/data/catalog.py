"""Data sets known by name, and where to find them."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from casper.data.dataset import Source
from casper.data.hub import Hub
from casper.data.parquet import ParquetFolder
from casper.errors import DataError


@dataclass(frozen=True)
class KnownSet:
    """A data set of the hub with known columns.

    Attributes:
        name: The name of its folder in a data directory.
        hub: The name on the hub.
        image_column: The column of images.
        label_column: The column of labels.
        test: The test split on the hub.
        channels: 1 for greyscale or 3 for colour, for any format of the files.
        few_shot: Whether copies with splits of disjoint classes exist, which must be joined.

    Example:
        >>> from casper.data import KnownSet
        >>> birds = KnownSet("birds", "owner/birds", label_column="species")
        >>> birds.label_column, birds.image_column
        ('species', 'image')
    """

    name: str
    hub: str
    image_column: str = "image"
    label_column: str = "label"
    test: str = "test"
    channels: int = 3
    few_shot: bool = False


CIFAR10 = KnownSet("cifar10", "uoft-cs/cifar10", image_column="img")
CIFAR100 = KnownSet("cifar100", "uoft-cs/cifar100", image_column="img", label_column="fine_label")
MNIST = KnownSet("mnist", "ylecun/mnist", channels=1)
FASHION_MNIST = KnownSet("fashion_mnist", "zalando-datasets/fashion_mnist", channels=1)
# 500 images per class in `train` and 100 in `validation`, at their original sizes; `test` has 50 others.
MINI_IMAGENET = KnownSet("mini_imagenet", "timm/mini-imagenet", test="validation", few_shot=True)
KNOWN_SETS = (CIFAR10, CIFAR100, MNIST, FASHION_MNIST, MINI_IMAGENET)


def find_locally(known: KnownSet, data_dir: str | None) -> Path | None:
    """Find the folder of a known data set in `data_dir` or `CASPER_DATA`; returns None if it is in neither.

    Example:
        >>> import pathlib, tempfile
        >>> from casper.data import MNIST, find_locally
        >>> with tempfile.TemporaryDirectory() as path:
        ...     pathlib.Path(path, "mnist").mkdir()
        ...     pathlib.Path(path, "mnist", "train.parquet").touch()
        ...     find_locally(MNIST, path).name
        'mnist'
    """
    return _local([known.name], data_dir)[0]


def find(known: KnownSet, data_dir: str | None) -> Source:
    """Find a known data set in `data_dir`, in `CASPER_DATA`, or else on the hub.

    Example:
        >>> from casper.data import KnownSet, find
        >>> source = find(KnownSet("birds", "owner/birds"), None)
        >>> source.title
        'owner/birds'
    """
    columns = {"image_column": known.image_column, "label_column": known.label_column}
    folder, looked = _local([known.name], data_dir)
    if folder is not None:
        test = known.test if ParquetFolder.has(folder, known.test) else None
        return ParquetFolder(folder, **columns, test=test, few_shot=known.few_shot)
    return Hub(known.hub, **columns, test=known.test, folder=known.name, looked=looked)


def find_on_hub(
    name: str, data_dir: str | None, *, image_column: str | None, label_column: str | None, test: str | None
) -> Source:
    """Find any data set by its hub name: in a data directory under `OWNER/NAME` or `NAME`, or else on the hub.

    A name with a revision is searched only on the hub, because local files have no revision.

    Example:
        >>> from casper.data import find_on_hub
        >>> source = find_on_hub("ylecun/mnist@main", None, image_column=None, label_column=None, test=None)
        >>> source.title
        'ylecun/mnist@main'
    """
    repository, at, _ = name.partition("@")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise DataError(f"hub:{name}: the name must be OWNER/NAME, as on the hub")
    folder, looked = (None, "") if at else _local([repository, repository.partition("/")[2]], data_dir)
    if folder is not None:
        return ParquetFolder(folder, image_column=image_column, label_column=label_column, test=test)
    return Hub(name, image_column=image_column, label_column=label_column, test=test, looked=looked)


def _local(names: list[str], data_dir: str | None) -> tuple[Path | None, str]:
    """Search the data directories; also returns a description of them for the error message."""
    looked = []
    for option, directory in (("--data-dir", data_dir), ("CASPER_DATA", os.environ.get("CASPER_DATA"))):
        if not directory:
            looked.append(f"{option} not set")
            continue
        for name in names:
            if ParquetFolder.has(Path(directory) / name):
                return Path(directory) / name, ""
        deeper = " (use its parent directory?)" if (Path(directory) / "train.parquet").exists() else ""
        looked.append(f"{option} {directory} has no {names[-1]}/train.parquet and test.parquet{deeper}")
    return None, "; ".join(looked)
