"""A search for settings on a validation split: the combinations, and which was best."""

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

# Around the values that the paper found by its own search (its hyper-parameter lines).
USUAL_SPACE: Mapping[str, Sequence[Any]] = {
    "lr": [0.01, 0.03, 0.1, 0.3],
    "casper.weight": [1e-4, 1e-3, 1e-2, 1e-1],
    "casper.num_classes": [2, 4, 8, 12, 16],
    "casper.num_neighbors": [4, 5, 6, 8, 10],
}
# The seeds of a search; those of a table begin at 0, and must not have been searched on.
FIRST_SEED = 100


@dataclass(frozen=True)
class Candidate:
    """One combination, and its runs.

    Attributes:
        values: What was searched over, by dotted key.
        configs: One run per seed.
    """

    values: Mapping[str, Any]
    configs: tuple[RunConfig, ...]


@dataclass(frozen=True)
class Ranked:
    """A combination whose runs are done.

    Attributes:
        values: What was searched over, by dotted key.
        accuracies: The final average accuracy on the validation split, one per seed.
    """

    values: Mapping[str, Any]
    accuracies: tuple[float, ...]


def usual_space(base: Mapping[str, Any], preset: Preset | None = None) -> dict[str, Sequence[Any]]:
    """Choose what to search over when nobody says: what the paper searched over, as far as the run has it."""
    regularizers = resolve_config(base, None, preset).options.regularizer
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
) -> list[Candidate]:
    """Multiply a space out, or draw from it; p * k stays within the batch.

    Args:
        base: What all runs share, by dotted key.
        space: The values to try, by dotted key; those of parts that are not in the run are left out.
        validation: The part of the training images that is held out and tested on; the test images are never seen.
        seeds: How many seeds, from 100.
        count: How many combinations to draw. Default: all.
        draw: Determines which are drawn.
        preset: A preset that all runs follow.

    Raises:
        ConfigError: For a space that has no combination, or a run that cannot be made.
    """
    for key, values in space.items():
        if not isinstance(values, list) or not values:
            raise ConfigError(f"--over {key} must have a list of values, but got {brief(values)}")
    for key in ("seed", "validation"):
        if key in base or key in space:
            raise ConfigError(f"{key} is the search's own: it is set with --{'seeds' if key == 'seed' else key}")
    if twice := sorted(base.keys() & space.keys()):
        raise ConfigError(f"{twice[0]} must be given once, but got it as a setting and with --over")
    if math.prod(map(len, space.values())) > MOST_RUNS:
        raise ConfigError(f"--over must leave at most {MOST_RUNS:,} combinations, but it leaves more")
    combinations = [dict(zip(space, values, strict=True)) for values in itertools.product(*space.values())]
    random.Random(draw).shuffle(combinations)  # with all of them the order says nothing; an early end is a fair draw
    found: list[Candidate] = []
    for chosen in combinations:
        if count is not None and len(found) == count:
            break
        common = {**base, **chosen, "validation": validation}
        configs = [resolve_config({**common, "seed": FIRST_SEED + seed}, None, preset) for seed in range(seeds)]
        if _fits(configs[0]):
            found.append(Candidate(chosen, tuple(configs)))
    if not found:
        raise ConfigError(
            "--over must leave a combination with num_classes * num_neighbors <= batch size, but none does"
        )
    return found


def _fits(config: RunConfig) -> bool:
    """Tell whether every regularizer's p classes of k neighbours each fit into a batch."""
    owners = [config.hyper.get(name, {}) for name in config.options.regularizer]
    pairs = [(owner["num_classes"], owner["num_neighbors"]) for owner in owners if "num_neighbors" in owner]
    return all(classes * neighbors <= config.options.batch_size for classes, neighbors in pairs)


def ranked(found: Sequence[Candidate], runs: Sequence["SweepRun"]) -> list[Ranked]:
    """Sort the combinations all of whose runs are done, the best first: by their mean accuracy over seeds."""
    results = {run.config.hash: run.metrics for run in runs if run.metrics is not None}
    done = []
    for candidate in found:
        each = [final_accuracy(results.get(config.hash, {})) for config in candidate.configs]
        accuracies = tuple(accuracy for accuracy in each if accuracy is not None)
        if len(accuracies) == len(candidate.configs):
            done.append(Ranked(candidate.values, accuracies))
    return sorted(done, key=lambda each: -mean(each.accuracies))


def preset_layout(values: Mapping[str, Any]) -> dict[str, Any]:
    """Lay values out as a preset file: hyper-parameters nested by owner."""
    layout: dict[str, Any] = {}
    for key, value in values.items():
        owner, _, name = key.rpartition(".")
        if owner:
            layout.setdefault(owner, {})[name] = value
        else:
            layout[name] = value
    return layout
