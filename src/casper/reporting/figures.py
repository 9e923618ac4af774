"""Results as pictures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from textwrap import shorten, wrap
from typing import BinaryIO

# Colours of Okabe and Ito, which colour-blind readers tell apart; with different markers and dashes they also survive
# a black-and-white printer.
_COLOURS = ("#000000", "#E69F00", "#0072B2", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES = ("-", "--", "-.", ":", "-", "--", "-.", ":")


def averages_so_far(matrix: Sequence[Sequence[float | None]]) -> list[float]:
    """Average each row of an accuracy matrix over the tasks met so far; empty: a row is missing, as in `joint`."""
    rows = [[value for value in row[: place + 1] if value is not None] for place, row in enumerate(matrix)]
    whole = all(len(row) == place + 1 for place, row in enumerate(rows))
    return [mean(row) for row in rows] if whole else []


def accuracy_over_tasks(curves: Mapping[str, Sequence[Sequence[float]]], title: str, path: Path | BinaryIO) -> None:
    """Draw the average accuracy on the tasks met so far, with mean and standard deviation over seeds.

    Args:
        curves: By variant, one curve per seed: the average accuracy after each task.
        title: The title.
        path: Where to write the picture; its suffix says which kind. An open file gets SVG.
    """
    from matplotlib import rc_context  # here: it costs half a second
    from matplotlib.figure import Figure  # no display is needed

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    for place, (variant, runs) in enumerate(curves.items()):
        tasks = range(1, len(runs[0]) + 1)
        means = [mean(values) for values in zip(*runs, strict=True)]
        errors = [stdev(values) if len(values) > 1 else 0.0 for values in zip(*runs, strict=True)]
        # Side by side rather than on top of each other, so that every error bar can be seen.
        shift = 0.06 * (place - (len(curves) - 1) / 2)
        axes.errorbar(
            [task + shift for task in tasks],
            means,
            errors,
            label=f"{shorten(variant, 50, placeholder='...')}: {means[-1]:.1f}",
            color=_COLOURS[place % len(_COLOURS)],
            marker=_MARKERS[place % len(_MARKERS)],
            linestyle=_DASHES[place % len(_DASHES)],
            capsize=3,
        )
    axes.set_xticks(list(tasks))
    axes.set_xlabel("tasks learnt")
    axes.set_ylabel("average accuracy so far (%)")
    axes.set_title("\n".join(wrap(title, 64)[:2]), fontsize="medium", parse_math=False)
    axes.grid(alpha=0.3)
    axes.legend(title="mean over seeds, after the last task")
    # Text stays text: small, and it can be searched. Two pictures of the same curves are the same file.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "casper"}):
        if isinstance(path, Path):
            figure.savefig(path, dpi=150)
        else:
            figure.savefig(path, format="svg", metadata={"Date": None})
