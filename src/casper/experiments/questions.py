"""What is asked of a run's latent space, and what of it can be answered from the states that were kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from casper.config.errors import ConfigError


@dataclass(frozen=True)
class Questions:
    """What is asked, beside what `task_end_summary` says of every task end.

    Attributes:
        num_neighbors: The number of neighbours in every graph. Default: the released code's.
        maps: Functional maps, each from one task end to another, counted in tasks learnt. None: from the middle to the
            end, as in the paper (5 and 10 of 10 tasks), if both were kept.
        rank: Their number of rows. Default: the paper's.
        embed: The task ends at which the memory, and the graph of a replay batch, is laid out by t-SNE. None: at 40 %,
            70 % and all of the tasks, of those that were kept and have a memory of more than 30 items, and than
            neighbours.
    """

    num_neighbors: int = 10
    maps: Sequence[tuple[int, int]] | None = None
    rank: int = 25
    embed: Sequence[int] | None = None


def wanted_maps(questions: Questions, kept: Mapping[int, Path], num_tasks: int) -> Sequence[tuple[int, int]]:
    """List the functional maps that are asked for; raises `ConfigError` where a state is missing."""
    if questions.maps is None:
        usual = (num_tasks // 2, num_tasks)
        return [usual] if all(end in kept for end in usual) else []
    for pair in questions.maps:
        _check_kept("--maps", pair, kept)
        if not pair[0] < pair[1]:
            raise ConfigError(f"--maps should go from an earlier task end to a later one; found {pair[0]}:{pair[1]}")
    return list(dict.fromkeys(questions.maps))


def wanted_embeddings(questions: Questions, kept: Mapping[int, Path], num_tasks: int) -> Sequence[int]:
    """List the task ends at which pictures are asked for; raises `ConfigError` where a state is missing."""
    if questions.embed is None:
        return [end for end in sorted({round(0.4 * num_tasks), round(0.7 * num_tasks), num_tasks}) if end in kept]
    _check_kept("--embed", questions.embed, kept)
    return questions.embed


def _check_kept(option: str, ends: Sequence[int], kept: Mapping[int, Path]) -> None:
    for end in ends:
        if end not in kept:
            listed = ", ".join(map(str, kept))
            raise ConfigError(f"{option} should name task ends whose state was kept, of {listed}; found {end}")
