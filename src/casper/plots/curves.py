"""Curves over tasks, with mean and standard deviation over seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from textwrap import shorten
from typing import TYPE_CHECKING, BinaryIO

from casper.plots.labels import VariantName, additions, bases
from casper.plots.style import Look, legend_beside, look, new_figure, save_figure, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEGEND = "numbers: mean over seeds after the last task"
_INSIDE = 4  # up to this number of curves the legend is inside the axes
# Dash and marker fill: of the method alone, then of each addition to it.
_PAIRED = (("--", "none"), ("-", "full"), (":", "bottom"), ("-.", "left"), ("-", "top"), (":", "right"))


@dataclass(frozen=True)
class Curve:
    """One variant.

    Attributes:
        name: Its name.
        tasks: The task ends at which it was measured, counted from 1.
        seeds: One value per task end, for each seed.

    Example:
        >>> from casper.plots import Curve, VariantName
        >>> curve = Curve(VariantName("ER"), tasks=(1, 2), seeds=((90.0, 70.0), (92.0, 74.0)))
        >>> len(curve.seeds)
        2
    """

    name: VariantName
    tasks: tuple[int, ...]
    seeds: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class _Line:
    label: str
    tasks: Sequence[int]
    seeds: Sequence[Sequence[float]]
    look: Look


def accuracy_over_tasks(
    curves: Mapping[str, Sequence[Sequence[float]]], title: str, path: Path | BinaryIO, *, band: bool = False
) -> None:
    """Draw the average accuracy on the tasks seen so far, with mean and standard deviation over seeds.

    Args:
        curves: By variant, one curve per seed: the average accuracy after each task.
        title: The title.
        path: Where to write the figure; PNG, PDF or SVG by its suffix. An open file receives SVG.
        band: Whether the standard deviation is drawn as a band around the curve instead of error bars.

    Example:
        >>> from io import BytesIO
        >>> from casper.plots import accuracy_over_tasks
        >>> file = BytesIO()
        >>> accuracy_over_tasks({"ER": [[90.0, 70.0], [92.0, 74.0]]}, "Digits", file)
        >>> b"ER: 72.0" in file.getvalue()  # the mean after the last task, in the legend
        True
    """
    figure = new_figure(6.4, 4.2)
    lines = [
        _Line(shorten(variant, 50, placeholder="..."), range(1, len(seeds[0]) + 1), seeds, look(place))
        for place, (variant, seeds) in enumerate(curves.items())
    ]
    axes = _draw(figure, lines, "average accuracy so far (%)", title, 6.4, ".1f", band=band)
    axes.legend(title=f"{_LEGEND}\nbands: ± one standard deviation" if band else _LEGEND, alignment="left")
    save_figure(figure, path)


def draw_over_tasks(
    curves: Sequence[Curve], y_label: str, title: str, number: str = ".1f", least: Mapping[int, float] | None = None
) -> "Figure":
    """Draw one curve per variant; a method with and without an addition differs in dashes and marker fill only.

    Args:
        curves: The variants.
        y_label: The label of the y axis.
        title: The title.
        number: The number format of the last value in the legend.
        least: A lower bound of the values, by task end.

    Example:
        >>> from casper.plots import Curve, VariantName, draw_over_tasks
        >>> curve = Curve(VariantName("ER"), tasks=(1, 2), seeds=((90.0, 70.0), (92.0, 74.0)))
        >>> figure = draw_over_tasks([curve], "accuracy (%)", "Digits")
        >>> figure.axes[0].get_legend().get_texts()[0].get_text()
        'ER: 72.0'
    """
    outside = len(curves) > _INSIDE
    ends = len({task for curve in curves for task in curve.tasks})
    width = 6.4 if ends <= 12 else 8.4
    longest = max(len(line) for curve in curves for line in curve.name.lines.splitlines())
    figure = new_figure(width + outside * (1.4 + 0.08 * longest), max(4.2, 0.27 * len(curves) + 1))
    looks = paired_looks([curve.name for curve in curves])
    lines = [_Line(curve.name.lines, curve.tasks, curve.seeds, looks[curve.name]) for curve in curves]
    axes = _draw(figure, lines, y_label, title, width, number)
    if least:
        label = f"least possible: {least[max(least)]:{number}}"
        axes.plot(
            *zip(*sorted(least.items()), strict=True), color="0.6", linestyle=":", marker=".", linewidth=2, label=label
        )
    if ends == 1:  # a single point in the middle of the axis
        axes.set_xlim(curves[0].tasks[0] - 1, curves[0].tasks[0] + 1)
    if outside:
        legend_beside(axes, _LEGEND)
    else:
        axes.legend(title=_LEGEND, handlelength=3.5, fontsize="small", title_fontsize="small")
    return figure


def paired_looks(names: Sequence[VariantName]) -> dict[VariantName, Look]:
    """Choose a colour and marker per method; alone it is dashed and hollow, with CaSpeR solid and filled.

    If there is one method with several additions, each variant has a different colour.
    """
    methods = bases(names)
    added = sorted(additions(names), key=lambda addition: (bool(addition), not addition.startswith("+ CaSpeR")))
    alone = len(methods) == 1 and len(added) > 2
    places = {addition: place for place, addition in enumerate(added, start=not added or added[0] != "")}
    looks = {}
    for name in names:
        first = look(places[name.addition] if alone else methods.index(name.base))
        dash, fill = _PAIRED[places[name.addition] % len(_PAIRED)]
        looks[name] = Look(first.colour, first.marker, dash, fill)
    return looks


def _draw(
    figure: "Figure",
    lines: Sequence[_Line],
    y_label: str,
    title: str,
    width: float,
    number: str,
    *,
    band: bool = False,
) -> "Axes":
    axes = figure.subplots()
    # Error bars are shifted sideways, so that none covers another.
    step = 0.0 if band else min(0.06, 0.6 / len(lines))
    for place, line in enumerate(lines):
        means = [mean(values) for values in zip(*line.seeds, strict=True)]
        errors = [stdev(values) if len(values) > 1 else 0.0 for values in zip(*line.seeds, strict=True)]
        hollow = line.look.fill == "none"
        shift = step * (place - (len(lines) - 1) / 2)
        if band:
            low, high = ([m + sign * e for m, e in zip(means, errors, strict=True)] for sign in (-1, 1))
            ground, edge = (line.look.colour, 0.08), (line.look.colour, 0.45)
            axes.fill_between(line.tasks, low, high, facecolor=ground, edgecolor=edge, linewidth=0.8)
        axes.errorbar(
            [task + shift for task in line.tasks],
            means,
            None if band else errors,
            label=f"{line.label}: {means[-1]:{number}}",
            color=line.look.colour,
            marker=line.look.marker,
            linestyle=line.look.dash,
            fillstyle="full" if hollow else line.look.fill,
            # White instead of transparent, so that the line does not cross a hollow marker.
            markerfacecolor="white" if hollow else line.look.colour,
            markerfacecoloralt="white",
            capsize=3,
        )
    axes.set_xticks(sorted({task for line in lines for task in line.tasks}))
    axes.set_xlabel("tasks learned")
    axes.set_ylabel(y_label)
    axes.set_title(wrapped(title, width), fontsize="medium")
    axes.grid(alpha=0.3)
    return axes
