"""`casper demo`: the whole idea in a minute."""

import os
import shutil
import sys
import time
from pathlib import Path
from typing import Annotated, Any

from typer import Exit, Option

from casper.cli.console import comparison_table, difference_table, say, show
from casper.cli.options import HowToRun
from casper.config import ConfigError, resolve_config
from casper.formatting import counted
from casper.metrics import averages_so_far
from casper.plots import accuracy_over_tasks

VARIANTS = {"ER-ACE": "none", "+ forward-only": "forward-only", "+ CaSpeR": "casper"}
_NEXT = {
    "run --method er --regularizer none": "another method",
    "run --set casper.self_neighbor=true": "one of the choices the paper leaves open",
    "run --stream rotated-digits": "a domain-incremental stream",
    "run --stream split-cifar100 --protocol desk": "CIFAR-100 in minutes on one core",
    "list methods": "what else there is",
    "run --help": "every option",
}


def demo(
    out: Annotated[Path, Option(help="Where the runs and the figure go; runs that are there already are used.")] = Path(
        "runs/demo"
    ),
    seeds: Annotated[int, Option(help="How many seeds, from 0.")] = 5,
) -> None:
    """Compare ER-ACE plain, with the control forward-only and with CaSpeR on split-digits, over several seeds.

    All variants share every setting except the regularizer; the settings were chosen on other seeds. Every core is
    used. Ends with a table, a figure, and what to try next.
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
    made = make_runs(configs, out, HowToRun(threads=1, device="cpu"))
    if len(made.having("done")) < len(configs):
        raise Exit(1)
    results: dict[str, list[dict[str, Any]]] = {variant: [] for variant in VARIANTS}
    for variant, run in zip((variant for variant in VARIANTS for _ in range(seeds)), made.runs, strict=True):
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
        "\nforward-only makes CaSpeR's extra pass without its loss: what it gains comes from BatchNorm's statistics.\n"
        "recalibrated: evaluated with those statistics recomputed from the memory."
    )
    figure = out / "accuracy.png"
    curves = {
        variant: [averages_so_far(each["class_il"]["accuracy_matrix"]) for each in several]
        for variant, several in results.items()
    }
    accuracy_over_tasks(curves, f"{where}, Class-IL, {number}", figure)
    say(f"{len(configs)} runs in {time.perf_counter() - started:.0f} s; figure: {figure}")
    # Without an activated environment the command is known by its path alone.
    program = "casper" if shutil.which("casper") else os.path.relpath(sys.argv[0])
    say("\n".join(["Next:", *(f"  {program} {command:<43} {what}" for command, what in _NEXT.items())]))
