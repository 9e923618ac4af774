"""Hyper-parameter search on a validation split: the combinations to run, and their ranking."""

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING, Any

from casper.config import ConfigError, RunConfig, resolve_config
from casper.config.errors import brief
from casper.config.yaml import Preset
from casper.runs.results import final_accuracy
from casper.sweeps.sweep_file import MOST_RUNS

if TYPE_CHECKING:
    from casper.sweeps.sweep import SweepRun

# Values around those that the paper found by search and publishes.
USUAL_SPACE: Mapping[str, Sequence[Any]] = {
    "lr": [0.01, 0.03, 0.1, 0.3],
    "casper.weight": [1e-4, 1e-3, 1e-2, 1e-1],
    "casper.num_classes": [2, 4, 8, 12, 16],
    "casper.num_neighbors": [4, 5, 6, 8, 10],
}
# The first seed of a search. Tables use the seeds from 0, which a search must not use.
FIRST_SEED = 100


@dataclass(frozen=True)
class Candidate:
    """One combination of values, and its runs.

    Attributes:
        values: The values searched over, by dotted key.
        configs: One configuration per seed.

    Example:
        >>> from casper.config import resolve_config
        >>> from casper.sweeps import Candidate
        >>> candidate = Candidate({"lr": 0.1}, (resolve_config({"lr": 0.1, "seed": 100}),))
        >>> candidate.values, len(candidate.configs)
        ({'lr': 0.1}, 1)
    """

    values: Mapping[str, Any]
    configs: tuple[RunConfig, ...]


@dataclass(frozen=True)
class Ranked:
    """A combination whose runs are all done.

    Attributes:
        values: The values searched over, by dotted key.
        accuracies: The final average accuracy on the validation split, one per seed.

    Example:
        >>> from casper.sweeps import Ranked
        >>> Ranked({"lr": 0.1}, (90.0, 91.0)).accuracies
        (90.0, 91.0)
    """

    values: Mapping[str, Any]
    accuracies: tuple[float, ...]


def usual_space(
    base: Mapping[str, Any], preset: Preset | None = None, data_dir: str | None = None
) -> dict[str, Sequence[Any]]:
    """Return the default search space: the part of `USUAL_SPACE` whose keys the run has.

    Args:
        base: The values that all runs share, by dotted key.
        preset: A preset for all runs.
        data_dir: The directory to search for data sets first, where a memory is given by its size.

    Example:
        >>> from casper.sweeps import usual_space
        >>> usual_space({"method": "er", "regularizer": ["none"]})
        {'lr': [0.01, 0.03, 0.1, 0.3]}
    """
    regularizers = resolve_config(base, None, preset, data_dir=data_dir).options.regularizer
    owners = {"", *regularizers}
    return {key: values for key, values in USUAL_SPACE.items() if key.rpartition(".")[0] in owners}


def candidates(
    base: Mapping[str, Any],
    space: Mapping[str, Sequence[Any]],
    *,
    validation: float = 0.1,
    seeds: int = 1,
    count: int | None = None,
    draw: int = 0,
    preset: Preset | None = None,
    data_dir: str | None = None,
) -> list[Candidate]:
    """List the combinations of a search space, all or a random sample, for which p * k is at most the batch size.

    Args:
        base: The values that all runs share, by dotted key.
        space: The values to try, by dotted key.
        validation: The fraction of the training images to hold out for testing; the test images are not used.
        seeds: The number of seeds, starting at 100.
        count: The number of combinations to draw. Default: all.
        draw: The seed of the draw.
        preset: A preset for all runs.
        data_dir: The directory to search for data sets first, where a memory is given by its size.

    Raises:
        ConfigError: If there is no such combination, or the configuration of a run is not valid.

    Example:
        >>> from casper.sweeps import candidates
        >>> found = candidates({"method": "er-ace"}, {"lr": [0.03, 0.1]}, seeds=2)
        >>> sorted(candidate.values["lr"] for candidate in found)
        [0.03, 0.1]
        >>> [config.options.seed for config in found[0].configs]
        [100, 101]
    """
    for key, values in space.items():
        if not isinstance(values, list) or not values:
            raise ConfigError(f"--over {key} must be a list of values, but got {brief(values)}")
    for key in ("seed", "validation"):
        if key in base or key in space:
            raise ConfigError(f"{key} cannot be set in a search; use --{'seeds' if key == 'seed' else key}")
    if twice := sorted(base.keys() & space.keys()):
        raise ConfigError(f"{twice[0]} must be given once, but is given as a setting and with --over")
    if (total := math.prod(map(len, space.values()))) > MOST_RUNS:
        raise ConfigError(f"--over must give at most {MOST_RUNS:,} combinations, but got {total:,}")
    combinations = [dict(zip(space, values, strict=True)) for values in itertools.product(*space.values())]
    random.Random(draw).shuffle(combinations)  # so that a search that is stopped early has tried a random sample
    found: list[Candidate] = []
    for chosen in combinations:
        if count is not None and len(found) == count:
            break
        common = {**base, **chosen, "validation": validation}
        configs = [
            resolve_config({**common, "seed": FIRST_SEED + seed}, None, preset, data_dir=data_dir)
            for seed in range(seeds)
        ]
        if _fits(configs[0]):
            found.append(Candidate(chosen, tuple(configs)))
    if not found:
        raise ConfigError("no combination of --over has num_classes * num_neighbors <= batch size")
    return found


def _fits(config: RunConfig) -> bool:
    """Return whether p * k is at most the batch size, for every regularizer."""
    owners = [config.hyper.get(name, {}) for name in config.options.regularizer]
    pairs = [(owner["num_classes"], owner["num_neighbors"]) for owner in owners if "num_neighbors" in owner]
    return all(classes * neighbors <= config.options.batch_size for classes, neighbors in pairs)


def ranked(found: Sequence[Candidate], runs: Sequence["SweepRun"]) -> list[Ranked]:
    """Rank the combinations whose runs are all done by their mean accuracy over seeds, the best first.

    Args:
        found: The combinations.
        runs: The runs of the sweep over them; see `Sweep`.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from casper.sweeps import Sweep, candidates, ranked
        >>> found = candidates({"method": "er"}, {"lr": [0.1, 0.3]})
        >>> configs = [config for candidate in found for config in candidate.configs]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ranked(found, Sweep(configs, Path(folder)).runs)  # no run is done yet
        []
    """
    results = {run.config.hash: run.metrics for run in runs if run.metrics is not None}
    done = []
    for candidate in found:
        each = [final_accuracy(results.get(config.hash, {})) for config in candidate.configs]
        accuracies = tuple(accuracy for accuracy in each if accuracy is not None)
        if len(accuracies) == len(candidate.configs):
            done.append(Ranked(candidate.values, accuracies))
    return sorted(done, key=lambda each: -mean(each.accuracies))


def preset_layout(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert values by dotted key to the layout of a preset file: hyper-parameters nested by owner.

    Example:
        >>> from casper.sweeps import preset_layout
        >>> preset_layout({"lr": 0.1, "casper.weight": 0.01})
        {'lr': 0.1, 'casper': {'weight': 0.01}}
    """
    layout: dict[str, Any] = {}
    for key, value in values.items():
        owner, _, name = key.rpartition(".")
        if owner:
            layout.setdefault(owner, {})[name] = value
        else:
            layout[name] = value
    return layout
