"""Analyse the latent space of a run at every task end with a saved checkpoint."""

import io
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from casper._deprecated import renamed_arguments
from casper.analysis import (
    highest_purity,
    map_between,
    neighborhood_purity,
    off_diagonal_energy,
    off_diagonal_share,
    parts_warning,
    sigma_neighbors,
    small_graph,
    spectrum,
    task_end_summary,
    tsne_embedding,
)
from casper.config.errors import ConfigError, explained
from casper.errors import ParameterError
from casper.files import check_plain, make_directory, write_whole
from casper.nets import features_of
from casper.runs.build import build_trainer
from casper.runs.code_version import code_version
from casper.runs.directory import RunDirectory, kept_checkpoints
from casper.runs.replay_batch import replay_batch_of
from casper.runs.results import write_analysis
from casper.runs.state_kinds import StateKinds, load_trainer
from casper.training import Trainer


@dataclass(frozen=True)
class AnalysisOptions:
    """What to compute in addition to `task_end_summary` of every task end.

    Attributes:
        num_neighbors: The number of neighbours in the graphs of σ and of functional maps. Default: what the authors of
            CaSpeR used: `sigma_neighbors` of the memory's size in its graph, 20 in functional maps.
        maps: Functional maps, each from one task end to another, counted in tasks learned. Default: from the middle to
            the end, as in the paper (5 and 10 of 10 tasks), if both have a checkpoint.
        rank: The number of rows of a map. Default: 25, as in the paper, or the number of test images if it is smaller.
        embed: The task ends at which the memory, and the graph of a replay batch, are embedded by t-SNE. Default: after
            40 %, 70 % and 100 % of the tasks, if there is a checkpoint and the memory has more items than 30 and than
            neighbours of each.

    Example:
        >>> from casper.runs import AnalysisOptions
        >>> AnalysisOptions(maps=[(2, 5)], rank=10)
        AnalysisOptions(num_neighbors=None, maps=[(2, 5)], rank=10, embed=None)
    """

    num_neighbors: int | None = None
    maps: Sequence[tuple[int, int]] | None = None
    rank: int | None = None
    embed: Sequence[int] | None = None


def wanted_maps(options: AnalysisOptions, saved: Mapping[int, Path], num_tasks: int) -> Sequence[tuple[int, int]]:
    """List the requested functional maps; raises `ConfigError` if a checkpoint is missing."""
    if options.maps is None:
        usual = (num_tasks // 2, num_tasks)
        return [usual] if all(end in saved for end in usual) else []
    for pair in options.maps:
        _check_saved("--maps", pair, saved)
        if not pair[0] < pair[1]:
            raise ConfigError(f"--maps must go from an earlier task end to a later one, but got {pair[0]}:{pair[1]}")
    return list(dict.fromkeys(options.maps))


def wanted_embeddings(options: AnalysisOptions, saved: Mapping[int, Path], num_tasks: int) -> Sequence[int]:
    """List the task ends to embed; raises `ConfigError` if a checkpoint is missing."""
    if options.embed is None:
        return [end for end in sorted({round(0.4 * num_tasks), round(0.7 * num_tasks), num_tasks}) if end in saved]
    _check_saved("--embed", options.embed, saved)
    return options.embed


def _check_saved(option: str, ends: Sequence[int], saved: Mapping[int, Path]) -> None:
    for end in ends:
        if end not in saved:
            listed = ", ".join(map(str, saved))
            raise ConfigError(f"{option} must name task ends with a saved checkpoint ({listed}), but got {end}")


# The paper's functional maps have 5,000 points. The search for neighbours is quadratic in them, so more than twice as
# many (all of Rotated MNIST) are subsampled.
_MOST_POINTS = 10_000
_RANK = 25
_MAP_NEIGHBORS = 20  # the authors' development code; the paper does not state it
_PERPLEXITY = 30.0
# Options of `casper analyse`, by the parameter that each of them sets.
_OPTIONS = {"num_neighbors": "neighbors", "count": "rank"}


@dataclass(frozen=True)
class _TaskEnd:
    """The features at one task end, with their labels: of each test set seen so far, the memory, and a replay batch."""

    tests: list[tuple[Tensor, Tensor]]
    memory: tuple[Tensor, Tensor]
    batch: tuple[Tensor, Tensor]


@renamed_arguments(questions="options")
def analyse_run(
    directory: RunDirectory,
    options: AnalysisOptions | None = None,
    *,
    device: str = "cpu",
    data_dir: str | None = None,
    features: Path | None = None,
    keep_checkpoints: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
    warn: Callable[[str], None] = warnings.warn,
) -> dict[str, Any]:
    """Analyse the latent space of a run, and write the result to its directory.

    Args:
        directory: The run's directory.
        options: What to compute. Default: `AnalysisOptions()`.
        device: The device on which features are computed.
        data_dir: The directory to search for data sets first.
        features: A file for all features as arrays (`.npz`): `memory_NN` and `test_NN` after NN tasks, with
            `memory_labels_NN`, `test_labels_NN`. Default: features are not written.
        keep_checkpoints: Whether to keep the checkpoints of the task ends afterwards.
        progress: Called with the number of task ends that are done, and the number of all task ends.
        warn: Called with each warning for the user.

    Returns:
        The content of `analysis.json`, with the points of embeddings.

    Raises:
        ConfigError: If there is no checkpoint, or an option does not fit the run.
        DataError: If the stream's images are not available.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from casper.config import resolve_config
        >>> from casper.runs import AnalysisOptions, RunDirectory, analyse_run, execute
        >>> config = resolve_config({"method": "er", "epochs": 1})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = execute(config, Path(folder) / "run", keep_checkpoints=True)
        ...     analysis = analyse_run(RunDirectory(Path(folder) / "run"), AnalysisOptions(maps=[], embed=[]))
        >>> [end["tasks_learnt"] for end in analysis["task_ends"]]
        [1, 2, 3, 4, 5]
    """
    options = options or AnalysisOptions()
    for file in (directory.embedding, directory.analysis, *([] if features is None else [features])):
        make_directory(file.absolute().parent)  # fail before everything is computed
        check_plain(file)
    config = directory.read_config()
    trainer = build_trainer(config, device=device, data_dir=data_dir)
    kinds = StateKinds(trainer)
    saved = _checkpoints(directory, len(trainer.stream))
    if missing := sorted({phase.row + 1 for phase in trainer.phases} - saved.keys()):
        warn(f"not analysed, without checkpoint: after {', '.join(map(str, missing))} of {len(trainer.stream)} tasks")
    given = options.num_neighbors
    neighbors = sigma_neighbors(config.options.buffer_size) if given is None else given
    maps = wanted_maps(options, saved, len(trainer.stream))
    embed = wanted_embeddings(options, saved, len(trainer.stream))
    ends, ends_of_maps, arrays = [], dict[int, _TaskEnd](), dict[str, np.ndarray]()
    for done, (number, file) in enumerate(saved.items()):
        progress(done, len(saved))
        load_trainer(trainer, kinds, directory, file, config.hash)
        end = _features_at(trainer, file, number)
        enough = len(end.memory[0]) > max(_PERPLEXITY, neighbors)
        if number in embed and options.embed is not None and not enough:
            least = f"more than {max(_PERPLEXITY, neighbors):.0f} items"
            raise ConfigError(f"--embed must name task ends with a memory of {least}, but got {len(end.memory[0])}")
        embedded = number in embed and enough
        if embedded and not all(len(points.unique(dim=0)) > 1 for points, _ in (end.memory, end.batch)):
            warn(f"no embedding of the memory after {number} tasks: all its features are equal")
            embedded = False
        ends.append({"tasks_learnt": number, **_analyse_task_end(end, neighbors, embedded)})
        if any(number in pair for pair in maps):
            ends_of_maps[number] = end
        if features is not None:
            arrays |= _arrays(end, number)
    if 0 < (items := ends[-1]["memory"]) <= neighbors:
        warn(f"no graph of the memory: its {items} items are too few for {neighbors} neighbours each")
    analysis = {
        "num_neighbors": neighbors,
        "sigma_neighbors": neighbors,
        "map_neighbors": _MAP_NEIGHBORS if given is None else given,
        "code": code_version(),
        "task_ends": ends,
        "functional_maps": [found for pair in maps if (found := _map(pair, ends_of_maps, options, warn))],
    }
    write_analysis(directory, analysis)
    if features is not None:
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        write_whole(features, buffer.getvalue())
    if not keep_checkpoints:
        directory.drop_kept_checkpoints()
    progress(len(saved), len(saved))
    return analysis


def _checkpoints(directory: RunDirectory, num_tasks: int) -> dict[int, Path]:
    """Find the checkpoints by the number of tasks learned: those of task ends, and the last one of a finished run."""
    saved = kept_checkpoints(directory.path)
    if directory.metrics.exists() and directory.checkpoint.exists():
        saved.setdefault(num_tasks, directory.checkpoint)
    if not saved:
        hint = "run it with --analyse or --keep-checkpoints"
        raise ConfigError(f"{directory.path} has no checkpoints of its task ends; {hint}")
    return saved


def _features_at(trainer: Trainer, file: Path, number: int) -> _TaskEnd:
    """Compute the features of test sets and memory from the checkpoint that was loaded."""
    learned = trainer.phases[trainer.position.phase - 1].row + 1 if trainer.position.phase else 0
    if learned != number:
        raise ConfigError(f"{file} must be the checkpoint after {number} tasks, but is the one after {learned}")
    view, memory = trainer.method.transform.test, trainer.memory
    tests = []
    for task in trainer.stream[:number]:
        data = task.to(trainer.device).test
        tests.append((features_of(trainer.net, data.images, view).cpu(), data.labels.cpu()))
    labelled = memory.labels >= 0
    support = features_of(trainer.net, memory.images[labelled], view).cpu()
    return _TaskEnd(tests, (support, memory.labels[labelled].cpu()), replay_batch_of(trainer))


def _analyse_task_end(end: _TaskEnd, num_neighbors: int, embedded: bool) -> dict[str, Any]:
    """Summarize one task end; if `embedded`, with the embeddings of the memory and of the replay batch."""
    embeddings = {}
    with _explained_options():
        if embedded:
            embeddings = {"embedding": _embedding(*end.memory, num_neighbors), "replay_batch": small_graph(*end.batch)}
        return {**task_end_summary(end.tests, *end.memory, num_neighbors), **embeddings}


@contextmanager
def _explained_options() -> Iterator[None]:
    """Convert a `ParameterError` into a `ConfigError` that names the option of `casper analyse`."""
    try:
        yield
    except ParameterError as error:
        raise explained(error, option=_OPTIONS.get(error.parameter)) from error


def _embedding(features: Tensor, labels: Tensor, num_neighbors: int) -> dict[str, Any]:
    points = tsne_embedding(features, _PERPLEXITY)
    return {
        "purity": neighborhood_purity(points, labels, num_neighbors),
        "purity_most": highest_purity(labels, num_neighbors),
        "num_neighbors": num_neighbors,
        "points": points.tolist(),
        "labels": labels.tolist(),
    }


def _map(
    pair: tuple[int, int], ends: Mapping[int, _TaskEnd], options: AnalysisOptions, warn: Callable[[str], None]
) -> dict[str, Any] | None:
    """Map the latent space of the earlier tasks' test images from one task end to another.

    Without a given rank or number of neighbours, few images lower the default. Returns None for a single image.
    """
    first, last = pair
    images = sum(len(labels) for _, labels in ends[first].tests)
    every = -(-images // _MOST_POINTS)
    points = [torch.cat([features for features, _ in ends[end].tests[:first]])[::every] for end in pair]
    if len(points[0]) < 2:
        warn(f"no functional map from {first} to {last} tasks: it needs at least 2 test images")
        return None
    rank = min(_RANK, len(points[0])) if options.rank is None else options.rank
    neighbors = options.num_neighbors
    if options.rank is None and rank < _RANK:
        warn(f"the functional map has rank {rank} instead of {_RANK}: there are only {rank} test images")
    if neighbors is None:
        neighbors = min(_MAP_NEIGHBORS, len(points[0]) - 1)
        if neighbors < _MAP_NEIGHBORS:
            number = f"{neighbors} neighbours instead of {_MAP_NEIGHBORS}"
            warn(f"the functional map has {number}: there are only {len(points[0])} test images")
    with _explained_options():
        a, b = (spectrum(features, rank, neighbors) for features in points)
    if warning := parts_warning(a, b):
        warn(f"after {first} and {last} tasks: {warning}")
    matrix = map_between(a, b)
    return {
        "from": first,
        "to": last,
        "rank": rank,
        "num_neighbors": neighbors,
        "points": len(points[0]),
        "num_components": [a.num_components, b.num_components],
        "off_diagonal_energy": off_diagonal_energy(matrix),
        "off_diagonal_share": off_diagonal_share(matrix),
        "matrix": [[round(entry, 6) for entry in row] for row in matrix.tolist()],
    }


def _arrays(end: _TaskEnd, number: int) -> dict[str, np.ndarray]:
    tests, labels = (torch.cat(parts) for parts in zip(*end.tests, strict=True))
    named = {"memory": end.memory[0], "memory_labels": end.memory[1], "test": tests, "test_labels": labels}
    return {f"{name}_{number:02d}": tensor.numpy() for name, tensor in named.items()}
