"""Read run directories into pandas and compare two regularizers: python examples/runs_to_pandas.py runs/demo/*."""

import argparse
import json
from pathlib import Path
from typing import Any

import pandas as pd
import yaml


def read_run(directory: Path) -> dict[str, Any]:
    """Read one finished run into a flat row: settings (`casper.weight`, ...) and results (`accuracy`, ...)."""
    config = yaml.safe_load((directory / "config.yaml").read_text("utf-8"))
    metrics = json.loads((directory / "metrics.json").read_text("utf-8"))
    del config["origin"]  # where each setting came from
    config["regularizer"] = "+".join(config["regularizer"]) or "none"
    scenario = metrics["class_il"] or metrics["domain_il"]
    return {
        **pd.json_normalize(config).iloc[0].to_dict(),
        "run": directory.name,
        "accuracy": scenario["final_average_accuracy"],  # all in percent
        "forgetting": scenario["forgetting"],
        "knn_5": metrics["latent"]["knn_5"],
        "seconds": metrics["seconds"]["total"],
        "code": metrics["code"],  # version of the code: compare runs of one version
    }


def paired(runs: pd.DataFrame, baseline: str, other: str) -> pd.DataFrame:
    """Subtract the accuracy of the baseline from that of the other regularizer, for each method, memory and seed.

    Runs of one regularizer and seed that differ in another setting raise an error: select those of one setting first.
    """
    index = ["stream", "method", "buffer_size", "seed"]
    return (
        runs.pivot(index=index, columns="regularizer", values="accuracy")
        .assign(difference=lambda table: table[other] - table[baseline])
        .groupby(index[:-1])["difference"]
        .agg(["mean", "std", "count"])
    )


parser = argparse.ArgumentParser(description="Read run directories into a table.")
parser.add_argument("directories", nargs="+", type=Path, help="run directories; unfinished ones are left out")
parser.add_argument("--without", default="none", help="regularizer of the baseline")
parser.add_argument("--with", default="casper", dest="other", help="regularizer to compare with it")
parser.add_argument("--csv", type=Path, help="also write every run and setting to this file")
options = parser.parse_args()

finished = [directory for directory in options.directories if (directory / "metrics.json").exists()]
if not finished:
    parser.error("none of these directories holds a finished run")
runs = pd.DataFrame([read_run(directory) for directory in finished])
print(runs[["method", "regularizer", "buffer_size", "seed", "accuracy", "forgetting", "knn_5"]].to_string(index=False))
print(f"\nAccuracy with {options.other} minus accuracy with {options.without}, paired by seed:")
print(paired(runs, options.without, options.other).round(2).to_string())
if options.csv:
    runs.to_csv(options.csv, index=False)
