"""`casper demo`: compare ER-ACE with and without CaSpeR in a minute."""

import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Exit, Option

from casper.cli.console import comparison_table, difference_table, say, show
from casper.cli.options import HowToRun
from casper.config import ConfigError, resolve_config
from casper.formatting import counted
from casper.metrics import averages_so_far
from casper.plots import accuracy_over_tasks, save_figure
from casper.plots.labels import name_of

if TYPE_CHECKING:
    from casper.sweeps import SweepRun

VARIANTS = {"ER-ACE": "none", "+ forward-only": "forward-only", "+ CaSpeR": "casper"}
_SHOWN = ("ER-ACE", "+ CaSpeR")  # the variants in the picture of the latent graph
_NEXT = {
    "run --method er --regularizer none": "another method",
    "run --set casper.self_neighbor=true": "a choice that the paper leaves open",
    "run --stream rotated-digits": "a domain-incremental stream",
    "run --stream split-cifar100 --protocol desk": "CIFAR-100 in minutes on one core",
    "list methods": "all methods",
    "run --help": "all options",
}


def demo(
    out: Annotated[
        Path,
        Option(metavar="DIR", help="Directory of the runs and the pictures; finished runs in it are not repeated."),
    ] = Path("runs/demo"),
    seeds: Annotated[int, Option(metavar="N", help="Number of seeds, counted from 0.")] = 5,
) -> None:
    """Compare ER-ACE alone, with the control forward-only and with CaSpeR on split-digits, over several seeds.

    - `casper demo`: about a minute on two cores

    - `casper demo --seeds 2 --out runs/short`

    All variants share every setting except the regularizer; the settings were chosen on other seeds. Every core is
    used. The demo prints tables and writes two pictures: `accuracy.png`, the accuracy over the tasks, and
    `latent_graph.png`, the latent graph of one replay batch without and with CaSpeR.
    """
    if seeds < 1:
        raise ConfigError(f"--seeds must be at least 1, but got {seeds}")
    from casper.cli.make_runs import make_runs

    started = time.perf_counter()
    configs = [
        resolve_config(
            {"method": "er-ace", "regularizer": [name], "seed": seed, "recalibrate": True, "stream": "split-digits"}
        )
        for name in VARIANTS.values()
        for seed in range(seeds)
    ]
    executed = make_runs(configs, out, HowToRun(threads=1, device="cpu"))
    if len(executed.having("done")) < len(configs):
        raise Exit(1)
    results: dict[str, list[dict[str, Any]]] = {variant: [] for variant in VARIANTS}
    for variant, run in zip((variant for variant in VARIANTS for _ in range(seeds)), executed.runs, strict=True):
        results[variant].append(run.metrics or {})
    final = {
        variant: {
            "as trained": [each["class_il"]["final_average_accuracy"] for each in several],
            "recalibrated": [each["recalibrated"]["class_il"]["final_average_accuracy"] for each in several],
        }
        for variant, several in results.items()
    }
    where, number = f"split-digits, memory of {configs[0].options.buffer_size}", counted(seeds, "seed")
    title = f"{where}: final average accuracy (%), {number}"
    show(comparison_table(title, final))
    show(difference_table(final, range(seeds)))
    say(
        "\nforward-only: CaSpeR's extra forward pass without its loss, which changes BatchNorm's statistics only.\n"
        "recalibrated: evaluated with those statistics recomputed from the memory.\n"
    )
    curves = {
        variant: [averages_so_far(each["class_il"]["accuracy_matrix"]) for each in several]
        for variant, several in results.items()
    }
    accuracy, graph = out / "accuracy.png", out / "latent_graph.png"
    accuracy_over_tasks(curves, f"{where}, Class-IL, {number}", accuracy, band=True)
    say(
        f"{accuracy}: look at the distance between the curves relative to their bands, one standard deviation over "
        "seeds; where the bands overlap, the seeds do not separate the variants."
    )
    by_variant = {name: executed.runs[place * seeds : (place + 1) * seeds] for place, name in enumerate(VARIANTS)}
    counts = _draw_graphs({name: by_variant[name] for name in _SHOWN}, graph)
    say(f"{graph}: look at the dashed lines, which join stored images of different classes; {_verdict(*counts)}")
    say(f"{len(configs)} runs and two pictures in {time.perf_counter() - started:.0f} s")
    # If the environment is not activated, only the path of the command works.
    program = "casper" if shutil.which("casper") else os.path.relpath(sys.argv[0])
    say("\n".join(["Next:", *(f"  {program} {command:<43} {what}" for command, what in _NEXT.items())]))


def _draw_graphs(variants: Mapping[str, Sequence["SweepRun"]], path: Path) -> list[int]:
    """Draw the latent graph of the lowest seed of each variant; returns the edges between classes of all seeds."""
    from casper.plots.latent_graphs import crossing, draw_edges_between_classes
    from casper.reports.figures import graph_variant
    from casper.runs.replay_batch import read_replay_graph

    neighbors = int(variants[_SHOWN[1]][0].config.hyper["casper"]["num_neighbors"])
    graphs, counts = [], []
    for runs in variants.values():
        options = runs[0].config.options
        name = name_of(options.method, options.regularizer)
        found = [graph_variant(name, read_replay_graph(run.directory, neighbors)) for run in runs]
        graphs.append(found[0])
        counts.append([(crossing(graph), len(graph.edges)) for graph in found])
    items = f"{len(graphs[0].labels)} images of {graphs[0].num_classes} classes"
    title = f"A replay batch after the last task, seed 0: {items}, {neighbors} neighbours each"
    save_figure(draw_edges_between_classes(graphs, counts, title), path)
    return [sum(between for between, _ in several) for several in counts]


def _verdict(without: int, with_casper: int) -> str:
    """State whether CaSpeR reduced the edges between classes."""
    counts = f"{with_casper} with CaSpeR and {without} without it, all seeds together"
    if with_casper < without:
        return f"CaSpeR is trained to remove them: {counts}."
    return f"CaSpeR is trained to remove them, but did not reduce them here: {counts}."
