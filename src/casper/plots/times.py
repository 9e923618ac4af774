"""Wall-clock time of methods, with and without regularizers."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from casper.plots.labels import broken
from casper.plots.style import COLOURS, legend_beside, new_figure, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of the method alone, then of each addition; distinguishable without colours.
_GROUNDS = ("#FFFFFF", COLOURS[6], COLOURS[1], COLOURS[3], COLOURS[4])
_HATCHES = ("", "///", "...", "xx", "\\\\")
_LETTERS = 12  # of a method's name that fits below its bars
_UNITS = (("h", 3600.0), ("min", 60.0), ("s", 1.0))


@dataclass(frozen=True)
class TimedVariant:
    """One variant.

    Attributes:
        method: The method's name.
        regularizers: The regularizers added to it; may be empty.
        seconds: One time per seed or repetition.
        passes: The forward passes in a step, if known.
        ratio: The ratio of its time to that of the method alone, if measured in pairs. Default: the ratio of the means.

    Example:
        >>> from casper.plots import TimedVariant
        >>> variant = TimedVariant("ER", "CaSpeR", seconds=(13.0, 14.0))
        >>> max(variant.seconds)
        14.0
    """

    method: str
    regularizers: str
    seconds: tuple[float, ...]
    passes: float | None = None
    ratio: float | None = None


def draw_times(variants: Sequence[TimedVariant], title: str) -> "Figure":
    """Draw a bar per variant, side by side for each method, with its ratio to the method alone above it.

    Example:
        >>> from casper.plots import TimedVariant, draw_times
        >>> variants = [TimedVariant("ER", "", seconds=(10.0,)), TimedVariant("ER", "CaSpeR", seconds=(13.0,))]
        >>> figure = draw_times(variants, "Digits")
        >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        ['method alone', '+ CaSpeR']
    """
    methods = list(dict.fromkeys(variant.method for variant in variants))
    added = sorted(dict.fromkeys(variant.regularizers for variant in variants), key=bool)
    width = 0.8 / len(added)
    inches = max(6.4, 0.8 * len(variants) + 1)
    figure = new_figure(inches, 4.2)
    axes = figure.subplots()
    unit, seconds = unit_of(max(mean(variant.seconds) for variant in variants))
    for place, addition in enumerate(added):
        members = [variant for variant in variants if variant.regularizers == addition]
        kind = place + (added[0] != "")
        bars = axes.bar(
            [methods.index(variant.method) + width * _shift(variant, variants, added) for variant in members],
            [mean(variant.seconds) / seconds for variant in members],
            width,
            yerr=[stdev(variant.seconds) / seconds if len(variant.seconds) > 1 else 0.0 for variant in members],
            capsize=3,
            label=f"+ {addition}" if addition else "method alone",
            color=_GROUNDS[kind % len(_GROUNDS)],
            hatch=_HATCHES[kind % len(_HATCHES)],
            edgecolor="black",
        )
        axes.bar_label(bars, [note(variant, variants) for variant in members], fontsize="x-small", padding=2)
    slanted: dict[str, Any] = (
        {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if max(map(len, methods)) > _LETTERS else {}
    )
    axes.set_xticks(range(len(methods)), [broken(method, 2 * _LETTERS) for method in methods], **slanted)
    axes.set_ylabel(f"wall-clock time of training ({unit})")
    axes.margins(y=0.2)  # room for the text above the bars
    axes.set_ylim(bottom=0)
    axes.set_title(wrapped(title, inches), fontsize="medium")
    legend_beside(axes, "")
    return figure


def _shift(variant: TimedVariant, variants: Sequence[TimedVariant], added: Sequence[str]) -> float:
    """Compute the offset of a variant's bar from the centre of its method, in bars."""
    there = [name for name in added if any((o.method, o.regularizers) == (variant.method, name) for o in variants)]
    return there.index(variant.regularizers) - (len(there) - 1) / 2


def note(variant: TimedVariant, variants: Sequence[TimedVariant]) -> str:
    """Format the text above a bar: its ratio to the method alone, and its forward passes in a step."""
    ratio = _ratio_of_means(variant, variants) if variant.ratio is None else variant.ratio
    written = "" if ratio is None else f"×{ratio:.2f}"
    passes = "" if variant.passes is None else f"{variant.passes:g} passes"
    return "\n".join(filter(None, (written, passes)))


def _ratio_of_means(variant: TimedVariant, variants: Sequence[TimedVariant]) -> float | None:
    """Divide a variant's mean time by that of its method alone; None if it is the method alone, or that is missing."""
    alone = [other for other in variants if other.method == variant.method and not other.regularizers]
    known = variant.regularizers and alone and mean(alone[0].seconds) > 0
    return mean(variant.seconds) / mean(alone[0].seconds) if known else None


def unit_of(seconds: float) -> tuple[str, float]:
    """Choose the largest unit in which a time is at least 2; returns its name and its length in seconds."""
    return next(((name, size) for name, size in _UNITS if seconds >= 2 * size), _UNITS[-1])
