"""What variants are called in a figure: short, and no two alike."""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any

from casper.reporting.report import row_order
from casper.reporting.variants import Variant
from casper.reporting.words import counted

_METHODS = {
    "finetune": "fine-tuning",
    "er": "ER",
    "er-ace": "ER-ACE",
    "icarl": "iCaRL",
    "der++": "DER++",
    "x-der": "X-DER",
    "podnet": "PODNet",
    "scr": "SCR",
    "pser-ace": "PsER-ACE",
    "ccic": "CCIC",
}
_REGULARIZERS = {"casper": "CaSpeR", "cscct": "CSCCT"}
_SETTINGS = re.compile(r", (?=[^\s,=\[\]]+=)")  # a comma in a list ends no setting
_LETTERS = 40  # of a line in a legend


@dataclass(frozen=True)
class VariantName:
    """A variant's name, in parts, so that a figure can pair what is the same but for what is added.

    Attributes:
        method: The method.
        added: What is added to it; empty: nothing.
        detail: What sets the method apart from others of its name in the figure, such as the size of its memory.
        added_detail: The same for what is added.
    """

    method: str
    added: str = ""
    detail: str = ""
    added_detail: str = ""

    @property
    def base(self) -> str:
        """The method without what is added: `ER-ACE (buffer 500)`."""
        return _with(self.method, self.detail)

    @property
    def addition(self) -> str:
        """What is added to the method: `+ CaSpeR (weight=0.1)`; empty: nothing."""
        return f"+ {_with(self.added, self.added_detail)}" if self.added else ""

    @property
    def text(self) -> str:
        """The whole name: `ER-ACE + CaSpeR (buffer 500, weight=0.1)`."""
        name = f"{self.method} + {self.added}" if self.added else self.method
        return _with(name, ", ".join(filter(None, (self.detail, self.added_detail))))

    @property
    def lines(self) -> str:
        """The whole name, broken for a legend or a panel's title."""
        return broken(self.text)


def _with(name: str, detail: str) -> str:
    return f"{name} ({detail})" if detail else name


def broken(text: str, letters: int = _LETTERS) -> str:
    """Break a name that is too long for a line: first between the name and its details."""
    if len(text) <= letters:
        return text
    name, bracket, detail = text.partition(" (")
    parts = (name, f"({detail}") if bracket else (name,)
    return "\n".join(line for part in parts for line in wrap(part, letters, max_lines=2, placeholder=" ..."))


def bases(names: Iterable[VariantName]) -> list[str]:
    """List the methods, each once, in their order."""
    return list(dict.fromkeys(name.base for name in names))


def additions(names: Iterable[VariantName]) -> list[str]:
    """List what is added, each once; nothing comes first."""
    return sorted(dict.fromkeys(name.addition for name in names), key=bool)


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


def name_of(method: str, regularizers: Iterable[str]) -> VariantName:
    """Name a method and what is added to it, as papers do."""
    return VariantName(shown(method, _METHODS), " + ".join(shown(name, _REGULARIZERS) for name in regularizers))


def shown(name: str, known: dict[str, str]) -> str:
    """Write a name as papers do; of `package.module:Class` the class."""
    return known.get(name, name.rpartition(":")[2])


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
