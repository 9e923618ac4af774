"""What a data set is before anything is decoded: labelled rows, cut into train and test."""

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
        open: Opens a row's image; reading its pixels may wait until they are used.
        place: Names where a row comes from, for complaints.
    """

    labels: Sequence[Label]
    open: Callable[[int], "Image"]
    place: Callable[[int], str]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class RawSet:
    """A data set that was found but not decoded.

    Attributes:
        splits: Its parts: `train` and `test`, or one part that has still to be cut.
        names: The names of integer labels, from 0; empty: a label is its own name.
        test: The part to test on; None: the first of the usual names.
        few_shot: Whether parts that share no class are meant to be put together, or a mistake.
    """

    splits: Mapping[str, Split]
    names: Sequence[str] = ()
    test: str | None = None
    few_shot: bool = False


class Source(ShowsSettings, ABC):
    """A place that images come from.

    Attributes:
        title: What a user calls it.
        fingerprint: Differs when the images may differ; known without reading them.
    """

    title: str
    fingerprint: str

    @abstractmethod
    def read(self) -> RawSet:
        """Find the rows. May take its time, and may use the network.

        Raises:
            DataError: If there is nothing there, or nothing that can be used.
        """


# Which split is for testing: the first of these that is there.
TEST_NAMES = ("test", "validation", "valid", "val")
# The seed by which an unsplit data set is cut, the same on every machine and in every run.
_CUT_SEED = 0
# Of every class, one image in six is for testing: 500 and 100 of miniImageNet's 600.
_CUT = 6


@dataclass(frozen=True)
class LabelledSplit:
    """A split whose labels are numbers 0..N-1, and which of its parts' rows belong to it."""

    parts: tuple[Split, ...]
    rows: tuple[tuple[int, int], ...]  # (part, row in it)
    labels: Tensor  # shape: (n,), int64


def train_and_test(raw: RawSet, title: str) -> tuple[LabelledSplit, LabelledSplit, list[str]]:
    """Number the classes, and cut what came without a test split.

    Classes are numbered in the order of their integer labels, or of their text. A data set without a test split, or in
    the few-shot form whose splits share no class, is put together and cut by a fixed rule: the rows of a class are
    shuffled with a fixed seed, and the first sixth of them, at least one, is for testing.

    Args:
        raw: What was found.
        title: What a user calls it, for complaints.

    Returns:
        The training split, the test split and the classes' names.

    Raises:
        DataError: For a missing label, a class without test images, or one without training images.
    """
    test_name = raw.test or next((name for name in TEST_NAMES if name in raw.splits), None)
    hidden = -1 if raw.names else None  # what the hub writes for a class label that is kept secret
    if "train" in raw.splits and test_name is not None:
        learnt, tested = (_classes(raw.splits[name], f"{title}: {name}", hidden) for name in ("train", test_name))
        if learnt & tested or not raw.few_shot:
            _same_classes(learnt, tested, raw.names, f"{title}: the train split", f"{title}: the {test_name} split")
            number = _numbered(learnt)
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
    """Collect a split's labels."""
    if not len(split):
        raise DataError(f"{name}: no images")
    for row, label in enumerate(split.labels):
        if label is None or label == hidden:
            raise DataError(f"{split.place(row)}: no label; found {label!r}")
        if not isinstance(label, int | str):
            raise DataError(f"{split.place(row)}: a label must be an integer or text, but got {label!r}")
    kinds = {isinstance(label, str) for label in split.labels}
    if len(kinds) > 1:
        raise DataError(f"{name}: labels must be all integers or all text, but got both")
    return set(split.labels)


def _same_classes(train: set[Label], test: set[Label], names: Sequence[str], learnt: str, tested: str) -> None:
    for fewer, more, part in ((test, train, tested), (train, test, learnt)):
        if missing := sorted(more - fewer, key=str):
            shown = ", ".join(_name(label, names) for label in missing[:5])
            raise DataError(f"{part} has no images of {len(missing)} of {len(train | test)} classes: {shown}")


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
            raise DataError(f"{whole.parts[part].place(row)}: the only image of its class; wanted one more for testing")
        shuffled = members[torch.randperm(len(members), generator=generator)]
        held_out[shuffled[: max(1, len(members) // _CUT)]] = True

    def part_of(chosen: Tensor) -> LabelledSplit:
        places = chosen.nonzero().squeeze(1).tolist()
        return LabelledSplit(whole.parts, tuple(whole.rows[place] for place in places), whole.labels[chosen])

    return part_of(~held_out), part_of(held_out)
