"""`casper demo`: the whole idea in a minute."""

import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from casper.cli.console import comparison_table, difference_table
from casper.config import ConfigError, RunConfig, resolve_config
from casper.metrics import averages_so_far
from casper.plots import accuracy_over_tasks
from casper.runs import execute

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
    out: Annotated[
        Path, typer.Option(help="Where the runs and the figure go; runs of an earlier demo are replaced.")
    ] = (Path("runs/demo")),
    seeds: Annotated[int, typer.Option(help="How many seeds, from 0.")] = 5,
) -> None:
    """Compare ER-ACE plain, with the control forward-only and with CaSpeR on split-digits, over several seeds.

    Same everything but the regularizer; the settings were chosen on other seeds. Every core is used. Ends with a table,
    a figure, and what to try next.
    """
    if seeds < 1:
        raise ConfigError(f"--seeds should be at least 1; found {seeds}")
    console = Console()
    started = time.perf_counter()
    configs = {
        (variant, seed): resolve_config(
            {"method": "er-ace", "regularizer": [name], "seed": seed, "recalibrate": True, "stream": "split-digits"}
        )
        for variant, name in VARIANTS.items()
        for seed in range(seeds)
    }
    results = _run_all(configs, out, console)
    final = {
        variant: {
            "as trained": [results[variant, seed]["class_il"]["final_average_accuracy"] for seed in range(seeds)],
            "recalibrated": [
                results[variant, seed]["recalibrated"]["class_il"]["final_average_accuracy"] for seed in range(seeds)
            ],
        }
        for variant in VARIANTS
    }
    options = next(iter(configs.values())).options
    title = f"split-digits, memory of {options.buffer_size}: final average accuracy (%), {seeds} seeds"
    console.print(comparison_table(title, final))
    console.print(difference_table(final, range(seeds)))
    console.print(
        "\nforward-only makes CaSpeR's extra pass without its loss: what it gains comes from BatchNorm's statistics.\n"
        "recalibrated: evaluated with those statistics recomputed from the memory.",
        highlight=False,
        soft_wrap=True,
    )
    figure = out / "accuracy.png"
    curves = {
        variant: [averages_so_far(results[variant, seed]["class_il"]["accuracy_matrix"]) for seed in range(seeds)]
        for variant in VARIANTS
    }
    accuracy_over_tasks(curves, f"split-digits, memory of {options.buffer_size}, Class-IL, {seeds} seeds", figure)
    console.print(f"{len(results)} runs in {time.perf_counter() - started:.0f} s; figure: {figure}", soft_wrap=True)
    # Without an activated environment the command is known by its path alone.
    program = "casper" if shutil.which("casper") else os.path.relpath(sys.argv[0])
    console.print(
        "Next:", *(f"  {program} {command:<43} {what}" for command, what in _NEXT.items()), sep="\n", soft_wrap=True
    )


def _run_all(
    configs: Mapping[tuple[str, int], RunConfig], out: Path, console: Console
) -> dict[tuple[str, int], dict[str, Any]]:
    """Run everything, one single-threaded process per core."""
    workers = min(os.cpu_count() or 1, len(configs))
    columns = (
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}"),
    )
    results = {}
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(workers, mp_context=context, initializer=torch.set_num_threads, initargs=(1,)) as pool,
        Progress(*columns, console=console, disable=not console.is_terminal) as progress,
    ):
        bar = progress.add_task("", total=len(configs), last="")
        futures = {
            pool.submit(execute, config, out / config.name, overwrite=True): key for key, config in configs.items()
        }
        for future in as_completed(futures):
            variant, seed = key = futures[future]
            results[key] = future.result()
            last = f"{variant}, seed {seed}: {results[key]['class_il']['final_average_accuracy']:.1f}"
            progress.update(bar, advance=1, last=last)
            if not console.is_terminal:
                console.print(f"{len(results)}/{len(configs)}  {last}", highlight=False)
    return results
