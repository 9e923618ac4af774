"""What variants are called in a figure: short, and no two alike."""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from casper.formatting import counted
from casper.plots.labels import VariantName, name_of
from casper.reports.report import row_order
from casper.reports.variants import Variant

_SETTINGS = re.compile(r", (?=[^\s,=\[\]]+=)")  # a comma in a list ends no setting


def variant_order(variant: Variant) -> tuple[Any, ...]:
    """Sort as the paper does: its methods in its order, each followed by what is added to it."""
    place, method, *added = row_order(variant.method, variant.regularizers, variant.regularizer_changes)
    table = (variant.stream, variant.protocol or "", variant.settings)
    return (*table, place, method, variant.buffer_size, variant.method_changes, *added)


def name_variants(variants: Sequence[Variant]) -> dict[Variant, VariantName]:
    """Name variants that stand in one figure; details are told only where they differ."""
    everywhere = (
        _differing(variants, lambda variant: [variant.stream]),
        _differing(variants, lambda variant: [f"{variant.protocol} protocol"] if variant.protocol else []),
        _differing(variants, lambda variant: settings(variant.settings)),
        _differing([variant for variant in variants if variant.buffer_size], _memory),
        _differing(variants, lambda variant: settings(variant.method_changes), lambda variant: variant.method),
    )
    added = _differing(
        variants,
        lambda variant: settings(variant.regularizer_changes),
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


def settings(text: str) -> list[str]:
    """Take settings apart that were written into one text: `epochs=5, milestones=[3, 4]`."""
    return _SETTINGS.split(text) if text else []


def shared_title(variants: Sequence[Variant], seeds: Sequence[int]) -> str:
    """Say what all variants of a figure share, and how many seeds each has."""
    streams = sorted({variant.stream for variant in variants})
    protocols = {f"{variant.protocol} protocol" if variant.protocol else "" for variant in variants}
    common = [part for part in settings(variants[0].settings) if all(part in settings(v.settings) for v in variants)]
    memories = {part for variant in variants if variant.buffer_size for part in _memory(variant)}
    counts = counted(max(seeds), "seed") if min(seeds) == max(seeds) else f"{min(seeds)} to {max(seeds)} seeds"
    parts = [", ".join(streams), *(protocols if len(protocols) == 1 else ()), *common]
    return ", ".join(filter(None, [*parts, *(memories if len(memories) == 1 else ()), counts]))


def _memory(variant: Variant) -> list[str]:
    return [f"buffer {variant.buffer_size}"]


def _differing(
    variants: Sequence[Variant],
    details: Callable[[Variant], list[str]],
    family: Callable[[Variant], Hashable] = lambda _: None,
) -> dict[Variant, list[str]]:
    """List for each variant the details that not all of its family have."""
    found = {}
    for variant in variants:
        others = [details(other) for other in variants if family(other) == family(variant)]
        found[variant] = [part for part in details(variant) if not all(part in other for other in others)]
    return found
