"""Make the table of methods on Split CIFAR-100 under the desk protocol.

    python results/desk_split_cifar100.py --data-dir DATA --runs runs/desk --workers 2

Each run is `casper run --stream split-cifar100 --protocol desk --recalibrate` with the method, regularizer, buffer size
and seed of its line. Runs that are there already are not made again, so the command may be interrupted. Writes
desk_split_cifar100.md beside this file.
"""

import argparse
import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import mean, stdev

import torch

from casper.experiments import RunConfig, execute, resolve_config

# Method, regularizer, buffer size, number of seeds.
LINES = [
    ("finetune", "none", None, 3),
    ("joint", "none", None, 3),
    ("er-ace", "none", 500, 5),
    ("er-ace", "casper", 500, 5),
    ("er", "none", 500, 3),
    ("er-ace", "forward-only", 500, 5),
    ("er-ace", "none", 2000, 3),
    ("er-ace", "casper", 2000, 3),
    *[
        (method, regularizer, 500, 3)
        for method in ("icarl", "der++", "x-der", "podnet")
        for regularizer in ("none", "casper")
    ],
]


def config_of(method: str, regularizer: str, buffer_size: int | None, seed: int) -> RunConfig:
    given = {"stream": "split-cifar100", "protocol": "desk", "recalibrate": True, "seed": seed}
    given |= {"method": method, "regularizer": [regularizer]}
    return resolve_config(given if buffer_size is None else {**given, "buffer_size": buffer_size})


def run(config: RunConfig, out: Path, data_dir: str) -> dict[str, object]:
    torch.set_num_threads(1)
    finished = out / "metrics.json"
    if finished.exists():
        return json.loads(finished.read_text("utf-8"))
    return execute(config, out, data_dir=data_dir, overwrite=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--runs", type=Path, default=Path("runs/desk"))
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()

    results: dict[tuple[object, ...], dict[str, object]] = {}
    with ProcessPoolExecutor(options.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = {}
        for *line, seeds in LINES:
            for seed in range(seeds):
                config = config_of(*line, seed)
                futures[pool.submit(run, config, options.runs / config.name, options.data_dir)] = (*line, seed)
        for future in as_completed(futures):
            key = futures[future]
            results[key] = future.result()
            print(*key, f"{results[key]['class_il']['final_average_accuracy']:.2f}", flush=True)
    Path(__file__).with_suffix(".md").write_text(table(results), "utf-8")


def table(results: dict[tuple[object, ...], dict[str, object]]) -> str:
    lines = [
        "# Split CIFAR-100, desk protocol",
        "",
        "Final average accuracy in percent, mean ± sample standard deviation over seeds 0, 1, ... and the single runs.",
        "Recalibrated: evaluated with BatchNorm statistics recomputed from the memory. Minutes: wall-clock time of one",
        "run's training on one thread, whatever else the machine was doing. Made by",
        "",
        "    python results/desk_split_cifar100.py --data-dir DATA",
        "",
        "| method | regularizer | buffer | Class-IL | runs | recalibrated | Task-IL | minutes |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for method, regularizer, buffer_size, seeds in LINES:
        runs = [results[method, regularizer, buffer_size, seed] for seed in range(seeds)]
        finals = [run["class_il"]["final_average_accuracy"] for run in runs]
        tasks = [run["task_il"]["final_average_accuracy"] for run in runs]
        second = [run["recalibrated"]["class_il"]["final_average_accuracy"] for run in runs if run["recalibrated"]]
        minutes = [run["seconds"]["train"] / 60 for run in runs]
        cells = [method, regularizer, buffer_size or "-", _spread(finals), " ".join(f"{x:.2f}" for x in finals)]
        cells += [_spread(second) if second else "-", _spread(tasks), f"{mean(minutes):.1f}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def _spread(values: list[float]) -> str:
    return f"{mean(values):.2f} ± {stdev(values):.2f}"


if __name__ == "__main__":
    main()
