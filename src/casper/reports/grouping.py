"""Which runs a figure is of: those that have what it shows, brought together by variant."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from casper.config import ConfigError
from casper.formatting import counted
from casper.plots.labels import VariantName
from casper.reports.naming import name_variants, shared_title, variant_order
from casper.reports.report import one_per_seed
from casper.reports.runs import FinishedRun
from casper.reports.variants import Variant

Shown = TypeVar("Shown")
Warn = Callable[[str], None]
_NAMED = 3  # runs that a warning names


class MissingDataError(Exception):
    """A run lacks the data a figure needs.

    Attributes:
        what: What is missing, as in `without an analysis`.
        remedy: How to get it, or why there is none.
    """

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}: {remedy}")
        self.what, self.remedy = what, remedy


@dataclass(frozen=True)
class Group(Generic[Shown]):
    """One variant, and what a figure shows of each of its runs, by seed from the lowest."""

    name: VariantName
    by_seed: Mapping[int, Shown]

    @property
    def of_lowest_seed(self) -> Shown:
        """What is shown where one run stands for all."""
        return next(iter(self.by_seed.values()))


@dataclass(frozen=True)
class Gathered(Generic[Shown]):
    """The variants of a figure in their order, and what they share as text."""

    groups: tuple[Group[Shown], ...]
    shared: str

    @property
    def one_shown(self) -> str:
        """What they share, where one run stands for all seeds of a variant."""
        several = any(len(group.by_seed) > 1 for group in self.groups)
        return f"{self.shared}, the lowest shown" if several else self.shared


def gather(
    runs: Sequence[FinishedRun],
    read: Callable[[FinishedRun], Shown],
    warn: Warn,
    *,
    one_stream: bool = True,
    most: int | None = None,
) -> Gathered[Shown]:
    """Bring runs together by variant.

    Args:
        runs: The finished runs.
        read: Takes from a run what the figure shows, or raises `MissingDataError`.
        warn: Told which runs are left out.
        one_stream: Whether what is shown of two streams cannot be compared.
        most: How many variants there is room for. Default: any number.

    Raises:
        ConfigError: If no run has what is shown, they are of several streams, or of more variants than have room.
    """
    found: list[tuple[FinishedRun, Shown]] = []
    lacking: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        try:
            found.append((run, read(run)))
        except MissingDataError as error:
            lacking.setdefault((error.what, error.remedy), []).append(run.name)
    if not found:
        raise _nothing(lacking)
    for (what, remedy), without in lacking.items():
        warn(f"left out, without {what} ({remedy}): {listed(without)}")
    chosen, doubled = one_per_seed([run for run, _ in found])
    if doubled:
        warn(f"left out, the same variant and seed as another run: {listed(doubled)}")
    shown = {id(run): value for run, value in found}
    by_variant: dict[Variant, dict[int, Shown]] = {}
    for run, variant in sorted(chosen, key=lambda pair: (variant_order(pair[1]), pair[0].layout["seed"])):
        by_variant.setdefault(variant, {})[run.layout["seed"]] = shown[id(run)]
    if one_stream:
        _check_one_stream(by_variant)
    if most is not None and len(by_variant) > most:
        raise ConfigError(f"RUNS should be of at most {most} variants for this figure; found {len(by_variant)}")
    names = name_variants(list(by_variant))
    groups = tuple(Group(names[variant], values) for variant, values in by_variant.items())
    return Gathered(groups, shared_title(list(by_variant), [len(group.by_seed) for group in groups]))


def listed(names: Sequence[str]) -> str:
    """Name a few runs, and count the others."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _nothing(lacking: Mapping[tuple[str, str], Sequence[str]]) -> ConfigError:
    if not lacking:
        return ConfigError("RUNS should hold at least one finished run; found none")
    wanted = " and ".join(dict.fromkeys(what for what, _ in lacking))
    found = "; ".join(
        f"{counted(len(names), 'run')} without {what} ({remedy})" for (what, remedy), names in lacking.items()
    )
    return ConfigError(f"RUNS should have {wanted}; found {found}")


def _check_one_stream(variants: Iterable[Variant]) -> None:
    streams = sorted({variant.stream for variant in variants})
    if len(streams) > 1:
        raise ConfigError(f"RUNS should be of one stream for this figure; found {', '.join(streams)}")
