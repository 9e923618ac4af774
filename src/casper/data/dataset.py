"""A data set before decoding: labelled rows, split into train and test."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image
from collections.abc import Iterable
from itertools import chain

import torch
from torch import Tensor

from casper._repr import ShowsSettings
from casper.errors import DataError
from casper.randomness import named_generator

Label = int | str


@dataclass(frozen=True)
class Split:
    """Part of a data set.

    Attributes:
        labels: One label per row.
        open: Opens the image of a row; the pixels may be read later.
        place: Returns the origin of a row, for error messages.

    Example:
        >>> from PIL import Image
        >>> from casper.data import Split
        >>> split = Split(["cat", "dog"], lambda row: Image.new("L", (8, 8)), lambda row: f"row {row}")
        >>> len(split), split.open(0).size, split.place(1)
        (2, (8, 8), 'row 1')
    """

    labels: Sequence[Label]
    open: Callable[[int], "Image"]
    place: Callable[[int], str]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class RawSet:
    """A data set before decoding.

    Attributes:
        splits: The splits: `train` and `test`, or one split that must still be divided.
        names: The names of integer labels, from 0; if empty, the label as text is its name.
        test: The split for testing; None for the first of the usual names.
        few_shot: Whether to join splits of disjoint classes; if not, they are an error.

    Example:
        >>> from PIL import Image
        >>> from casper.data import RawSet, Split
        >>> split = Split([0, 1], lambda row: Image.new("L", (8, 8)), lambda row: f"row {row}")
        >>> raw = RawSet({"train": split, "test": split}, names=("cat", "dog"))
        >>> list(raw.splits), raw.names
        (['train', 'test'], ('cat', 'dog'))
    """

    splits: Mapping[str, Split]
    names: Sequence[str] = ()
    test: str | None = None
    few_shot: bool = False


class Source(ShowsSettings, ABC):
    """A source of images.

    Attributes:
        title: The name to display to the user.
        fingerprint: A hash that changes when the images may have changed, computed without reading them.

    Example:
        >>> from casper.data import RawSet, Source
        >>> class Nothing(Source):
        ...     title, fingerprint = "nothing", "1"
        ...     def read(self):
        ...         return RawSet({})
        >>> Nothing().title, Nothing().read().splits
        ('nothing', {})
    """

    title: str
    fingerprint: str

    @abstractmethod
    def read(self) -> RawSet:
        """Read the rows, which may be slow and may use the network.

        Raises:
            DataError: If there are no images, or they cannot be used.
        """


# The split for testing is the first of these that exists.
TEST_NAMES = ("test", "validation", "valid", "val")
# The seed for splitting a data set without a test split, the same on every machine and in every run.
_CUT_SEED = 0
# One image in six of every class is used for testing: 100 of the 600 images of miniImageNet.
_CUT = 6


@dataclass(frozen=True)
class LabelledSplit:
    """A split with labels 0..N-1, and its rows in one or more parts."""

    parts: tuple[Split, ...]
    rows: tuple[tuple[int, int], ...]  # (part, row in it)
    labels: Tensor  # shape: (n,), int64


def train_and_test(raw: RawSet, title: str) -> tuple[LabelledSplit, LabelledSplit, list[str]]:
    """Number the classes, and split a data set without a test split.

    Classes are numbered in the order of their integer labels, or of their text. A data set without a test split, or in
    the few-shot form whose splits have disjoint classes, is joined and split by a fixed rule: the rows of a class are
    shuffled with a fixed seed, and the first sixth of them, at least one, is used for testing.

    Args:
        raw: The data set.
        title: The name of the data set, for error messages.

    Returns:
        The training split, the test split and the names of the classes.

    Raises:
        DataError: For a missing label, a class without test images, or one without training images.
    """
    test_name = raw.test or next((name for name in TEST_NAMES if name in raw.splits), None)
    hidden = -1 if raw.names else None  # the hub's value for a class label that is not published
    if "train" in raw.splits and test_name is not None:
        learned, tested = (_classes(raw.splits[name], f"{title}: {name}", hidden) for name in ("train", test_name))
        if learned & tested or not raw.few_shot:
            _same_classes(learned, tested, raw.names, f"{title}: the train split", f"{title}: the {test_name} split")
            number = _numbered(learned)
            train, test = (_labelled([raw.splits[name]], number) for name in ("train", test_name))
            return train, test, [_name(label, raw.names) for label in number]
    number = _numbered(
        chain.from_iterable(_classes(split, f"{title}: {name}", hidden) for name, split in raw.splits.items())
    )
    train, test = _cut(_labelled(list(raw.splits.values()), number))
    return train, test, [_name(label, raw.names) for label in number]


def _numbered(labels: Iterable[Label]) -> dict[Label, int]:
    """Number the labels in the order of their integers, or of their text."""
    ordered = sorted(set(labels), key=lambda label: (isinstance(label, str), label))
    return {label: place for place, label in enumerate(ordered)}


def _classes(split: Split, name: str, hidden: int | None) -> set[Label]:
    """Collect the labels of a split."""
    if not len(split):
        raise DataError(f"{name}: no images")
    for row, label in enumerate(split.labels):
        if label is None or label == hidden:
            raise DataError(f"{split.place(row)}: the label is missing, got {label!r}")
        if not isinstance(label, int | str):
            raise DataError(f"{split.place(row)}: a label must be an integer or text, but got {label!r}")
    kinds = {isinstance(label, str) for label in split.labels}
    if len(kinds) > 1:
        raise DataError(f"{name}: labels must be all integers or all text, but got both")
    return set(split.labels)


def _same_classes(train: set[Label], test: set[Label], names: Sequence[str], learned: str, tested: str) -> None:
    for fewer, more, part in ((test, train, tested), (train, test, learned)):
        if missing := sorted(more - fewer, key=str):
            examples = ", ".join(_name(label, names) for label in missing[:5])
            raise DataError(f"{part} has no images of {len(missing)} of {len(train | test)} classes: {examples}")


def _name(label: Label, names: Sequence[str]) -> str:
    return str(names[label]) if isinstance(label, int) and 0 <= label < len(names) else str(label)


def _labelled(parts: Sequence[Split], number: Mapping[Label, int]) -> LabelledSplit:
    rows = tuple((part, row) for part, split in enumerate(parts) for row in range(len(split)))
    return LabelledSplit(tuple(parts), rows, torch.tensor([number[label] for split in parts for label in split.labels]))


def _cut(whole: LabelledSplit) -> tuple[LabelledSplit, LabelledSplit]:
    generator = named_generator(_CUT_SEED, "cut")
    held_out = torch.zeros(len(whole.labels), dtype=torch.bool)
    for label in whole.labels.unique():
        members = (whole.labels == label).nonzero().squeeze(1)
        if len(members) < 2:
            part, row = whole.rows[int(members[0])]
            raise DataError(f"{whole.parts[part].place(row)}: the only image of its class; testing needs one more")
        shuffled = members[torch.randperm(len(members), generator=generator)]
        held_out[shuffled[: max(1, len(members) // _CUT)]] = True

    def part_of(chosen: Tensor) -> LabelledSplit:
        places = chosen.nonzero().squeeze(1).tolist()
        return LabelledSplit(whole.parts, tuple(whole.rows[place] for place in places), whole.labels[chosen])

    return part_of(~held_out), part_of(held_out)
