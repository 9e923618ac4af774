"""Draw the README's picture: the latent graph without and with CaSpeR, and the edges between classes for five seeds.

Runs what is missing (ten runs of some seconds): python docs/readme_graph.py [--runs runs/readme]
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

SEEDS = range(5)
SHOWN = 0  # the first seed, whatever it looks like
WITHIN, BETWEEN = "#999999", "#D55E00"
COLOURS = ["#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#CC79A7", "#FFFFFF"]
MARKERS = "os^vDPX*"
VARIANTS = {"ER-ACE": ["--regularizer", "none"], "ER-ACE + CaSpeR": ["--regularizer", "casper"]}


def replay_batch(variant: str, seed: int, runs: Path) -> dict[str, Any]:
    """Return the graph of one replay batch after the last task, from a run that is made if it is missing."""
    out = runs / f"{variant.lower().replace(' ', '')}-{seed}"
    if not (out / "analysis.json").exists():
        settings = [*VARIANTS[variant], "--seed", str(seed), "--threads", "1", "--analyse", "--out", str(out)]
        subprocess.run([sys.executable, "-m", "casper", "run", *settings], check=True, stdout=subprocess.DEVNULL)
    batch: dict[str, Any] = json.loads((out / "analysis.json").read_text("utf-8"))["task_ends"][-1]["replay_batch"]
    return batch


def crossing(batch: dict[str, Any]) -> int:
    """Count the edges between different classes."""
    return sum(batch["labels"][i] != batch["labels"][j] for i, j in batch["edges"])


def draw_graph(axes: Axes, batch: dict[str, Any], title: str) -> None:
    """Draw a graph, edges between classes standing out."""
    for i, j in sorted(batch["edges"], key=lambda edge: batch["labels"][edge[0]] != batch["labels"][edge[1]]):
        (x, y), (u, v) = batch["points"][i], batch["points"][j]
        if batch["labels"][i] == batch["labels"][j]:
            axes.plot([x, u], [y, v], color=WITHIN, linewidth=0.8, zorder=1)
        else:
            axes.plot([x, u], [y, v], color=BETWEEN, linewidth=1.6, linestyle=(0, (3, 1.5)), zorder=1)
    for place, label in enumerate(sorted(set(batch["labels"]))):
        members = [point for point, other in zip(batch["points"], batch["labels"], strict=True) if other == label]
        looks = {"c": COLOURS[place], "marker": MARKERS[place], "edgecolors": "black", "linewidths": 0.6}
        axes.scatter(*zip(*members, strict=True), s=38, zorder=2, **looks)
    axes.set(xticks=[], yticks=[])
    axes.set_title(f"{title}\n{crossing(batch)} of {len(batch['edges'])} edges join different classes", fontsize=10)


def draw_counts(axes: Axes, counts: dict[str, list[int]]) -> None:
    """Draw one line per seed from the number of edges between classes without CaSpeR to that with it."""
    for seed in SEEDS:
        pair = [counts[variant][seed] for variant in counts]
        axes.plot([0, 1], pair, color="black", marker="o", markersize=5, linewidth=2 if seed == SHOWN else 1)
    ends = counts[list(counts)[-1]]
    for end in set(ends):
        seeds = "seed " + ", ".join(str(seed) for seed in SEEDS if ends[seed] == end)
        axes.annotate(seeds, (1, end), xytext=(6, 0), textcoords="offset points", fontsize=8, va="center")
    axes.set(xticks=[0, 1], xticklabels=["without", "with CaSpeR"], xlim=(-0.25, 1.55), ylim=(-0.8, None))
    total = " → ".join(str(sum(several)) for several in counts.values())
    axes.set_title(f"Edges between classes, {len(SEEDS)} seeds\nin all: {total}", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


parser = argparse.ArgumentParser(description="Draw the README's picture.")
parser.add_argument("--runs", type=Path, default=Path("runs/readme"), help="where the runs are, or are written")
parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".png"), help="the picture")
options = parser.parse_args()

batches = {variant: [replay_batch(variant, seed, options.runs) for seed in SEEDS] for variant in VARIANTS}
figure, panels = plt.subplots(1, 3, figsize=(10.4, 4.1), layout="constrained", width_ratios=(3, 3, 2.2))
for panel, (variant, several) in zip(panels, batches.items(), strict=False):
    draw_graph(panel, several[SHOWN], variant)
draw_counts(panels[2], {variant: [crossing(batch) for batch in several] for variant, several in batches.items()})
lines = [
    Line2D([], [], color=WITHIN, linewidth=0.8, label="edge within a class"),
    Line2D([], [], color=BETWEEN, linewidth=1.6, linestyle=(0, (3, 1.5)), label="edge between classes"),
]
figure.legend(handles=lines, loc="outside lower left", ncols=2, fontsize=9, frameon=False)
figure.savefig(options.out, dpi=110)
