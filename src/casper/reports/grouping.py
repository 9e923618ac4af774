"""Group the runs of a figure by variant, and give the variants short, distinct names."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from casper.config import ConfigError
from casper.formatting import counted
from casper.plots.labels import VariantName, name_of
from casper.reports.notes import mixed_seeds
from casper.reports.report import one_per_seed, row_order
from casper.reports.runs import FinishedRun
from casper.reports.variants import Variant

Shown = TypeVar("Shown")
Warn = Callable[[str], None]
_NAMED = 3  # number of runs that a warning lists by name


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
    """One variant, and the data of each of its runs, by seed in ascending order."""

    name: VariantName
    by_seed: Mapping[int, Shown]

    @property
    def of_lowest_seed(self) -> Shown:
        """The data of the lowest seed, for figures of a single run."""
        return next(iter(self.by_seed.values()))


@dataclass(frozen=True)
class Gathered(Generic[Shown]):
    """The variants of a figure in order, and a text of the settings they share."""

    groups: tuple[Group[Shown], ...]
    shared: str

    @property
    def one_shown(self) -> str:
        """The shared settings, for figures that draw one seed per variant."""
        several = any(len(group.by_seed) > 1 for group in self.groups)
        return f"{self.shared}, lowest drawn" if several else self.shared


def gather(
    runs: Sequence[FinishedRun],
    read: Callable[[FinishedRun], Shown],
    warn: Warn,
    *,
    one_stream: bool = True,
    most: int | None = None,
) -> Gathered[Shown]:
    """Group runs by variant.

    Args:
        runs: The finished runs.
        read: Reads the data of the figure from a run, or raises `MissingDataError`.
        warn: Called with a line about runs that are left out, and about seeds of several versions of the code.
        one_stream: Whether runs of several streams are refused, because their data cannot be compared.
        most: The maximal number of variants. Default: any number.

    Raises:
        ConfigError: If no run has the data, the runs are of several streams, or of more than `most` variants.
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
        warn(f"left out, because another run has the same variant and seed: {listed(doubled)}")
    values = {id(run): value for run, value in found}
    by_variant: dict[Variant, dict[int, FinishedRun]] = {}
    for run, variant in sorted(chosen, key=lambda pair: (variant_order(pair[1]), pair[0].layout["seed"])):
        by_variant.setdefault(variant, {})[run.layout["seed"]] = run
    if one_stream:
        _check_one_stream(by_variant)
    if most is not None and len(by_variant) > most:
        raise ConfigError(f"RUNS must have at most {most} variants for this figure, but got {len(by_variant)}")
    for note in mixed_seeds(by_variant):
        warn(note.removesuffix("."))
    names = name_variants(list(by_variant))
    groups = tuple(
        Group(names[variant], {seed: values[id(run)] for seed, run in by_seed.items()})
        for variant, by_seed in by_variant.items()
    )
    return Gathered(groups, shared_title(list(by_variant), [len(group.by_seed) for group in groups]))


def listed(names: Sequence[str]) -> str:
    """Name a few runs, and count the others."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _nothing(lacking: Mapping[tuple[str, str], Sequence[str]]) -> ConfigError:
    if not lacking:
        return ConfigError("RUNS must contain at least one finished run, but got none")
    wanted = " and ".join(dict.fromkeys(what for what, _ in lacking))
    found = "; ".join(
        f"{counted(len(names), 'run')} without {what} ({remedy})" for (what, remedy), names in lacking.items()
    )
    return ConfigError(f"RUNS must have {wanted}, but got {found}")


def _check_one_stream(variants: Iterable[Variant]) -> None:
    streams = sorted({variant.stream for variant in variants})
    if len(streams) > 1:
        raise ConfigError(f"RUNS must be of one stream for this figure, but got {', '.join(streams)}")


def variant_order(variant: Variant) -> tuple[Any, ...]:
    """Sort key: the paper's methods in its order, each followed by its regularizers."""
    place, method, *added = row_order(variant.method, variant.regularizers, ", ".join(variant.regularizer_changes))
    table = (variant.stream, variant.protocol or "", variant.settings)
    return (*table, place, method, variant.buffer_size, variant.method_changes, *added)


def name_variants(variants: Sequence[Variant]) -> dict[Variant, VariantName]:
    """Name the variants of one figure; settings are included only where they differ."""
    everywhere = (
        _differing(variants, lambda variant: [variant.stream]),
        _differing(variants, lambda variant: [f"{variant.protocol} protocol"] if variant.protocol else []),
        _differing(variants, lambda variant: variant.settings),
        _differing([variant for variant in variants if variant.buffer_size], _memory),
        _differing(variants, lambda variant: variant.method_changes, lambda variant: variant.method),
    )
    added = _differing(
        variants,
        lambda variant: variant.regularizer_changes,
        lambda variant: (variant.method, variant.regularizers),
    )
    return {
        variant: replace(
            name_of(variant.method, filter(None, variant.regularizers.split("+"))),
            detail=", ".join(part for details in everywhere for part in details.get(variant, [])),
            added_detail=", ".join(added[variant]),
        )
        for variant in variants
    }


def shared_title(variants: Sequence[Variant], seeds: Sequence[int]) -> str:
    """Format the settings that all variants of a figure share, and the number of seeds."""
    streams = sorted({variant.stream for variant in variants})
    protocols = {f"{variant.protocol} protocol" if variant.protocol else "" for variant in variants}
    common = [part for part in variants[0].settings if all(part in variant.settings for variant in variants)]
    memories = {part for variant in variants if variant.buffer_size for part in _memory(variant)}
    counts = counted(max(seeds), "seed") if min(seeds) == max(seeds) else f"{min(seeds)} to {max(seeds)} seeds"
    parts = [", ".join(streams), *(protocols if len(protocols) == 1 else ()), *common]
    return ", ".join(filter(None, [*parts, *(memories if len(memories) == 1 else ()), counts]))


def _memory(variant: Variant) -> list[str]:
    return [f"buffer {variant.buffer_size}"]


def _differing(
    variants: Sequence[Variant],
    details: Callable[[Variant], Sequence[str]],
    family: Callable[[Variant], Hashable] = lambda _: None,
) -> dict[Variant, list[str]]:
    """List for each variant the details that not all of its family have."""
    found = {}
    for variant in variants:
        others = [details(other) for other in variants if family(other) == family(variant)]
        found[variant] = [part for part in details(variant) if not all(part in other for other in others)]
    return found
