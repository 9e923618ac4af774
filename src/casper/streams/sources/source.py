"""What a source of images is: labelled images by row, before anything is decoded."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

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


class Source(ABC):
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
