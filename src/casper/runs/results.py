"""Results of a run: look up values in `metrics.json`; read and write `analysis.json`."""

import io
import json
import sys
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from casper.config.errors import ConfigError
from casper.files import read, write_whole
from casper.runs.directory import RunDirectory, read_mapping


def look_up(metrics: Mapping[str, Any], path: str) -> float | None:
    """Look up a value by its dotted path, such as `class_il.final_average_accuracy`.

    Returns None if there is no such value, or if it is not a finite number.
    """
    found: Any = metrics
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found if is_finite(found) else None


def is_finite(value: Any) -> bool:
    """Return whether a value from a file is a number that a float can hold."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= sys.float_info.max


def final_accuracy(metrics: Mapping[str, Any]) -> float | None:
    """Return the final average accuracy in Class-IL or, for a stream without Class-IL, in Domain-IL."""
    found = look_up(metrics, "class_il.final_average_accuracy")
    return look_up(metrics, "domain_il.final_average_accuracy") if found is None else found


_LARGEST = 10**8  # bytes of all points, decompressed
_ARRAYS = ("points", "labels")


def write_analysis(directory: RunDirectory, analysis: Mapping[str, Any]) -> None:
    """Write `analysis.json`, and `embedding.npz` with the points of its embeddings."""
    content, arrays = deepcopy(dict(analysis)), {}
    for end in content["task_ends"]:
        for name in _ARRAYS if "embedding" in end else ():
            arrays[f"{name}_{end['tasks_learnt']:02d}"] = np.array(end["embedding"].pop(name))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    write_whole(directory.embedding, buffer.getvalue())
    write_whole(directory.analysis, (json.dumps(content) + "\n").encode())


def read_analysis(directory: RunDirectory) -> dict[str, Any] | None:
    """Read `analysis.json`, with the points of embeddings if `embedding.npz` is there; None if there is no analysis.

    Raises:
        ConfigError: If a file cannot be read.
    """
    if not directory.analysis.exists():
        return None
    content = read_mapping(directory.analysis)
    ends: Any = content.get("task_ends")
    maps: Any = content.get("functional_maps", [])
    listed = all(isinstance(found, list) and all(isinstance(each, dict) for each in found) for found in (ends, maps))
    if not listed or not all(isinstance(end.get("tasks_learnt"), int) for end in ends):
        raise ConfigError(f"{directory.analysis} does not contain the analysis of a run")
    if directory.embedding.exists():
        try:
            with np.load(io.BytesIO(read(directory.embedding)), allow_pickle=False) as arrays:
                if sum(member.file_size for member in arrays.zip.infolist()) > _LARGEST:
                    raise ValueError("too large")
                for end in ends:
                    if f"points_{end['tasks_learnt']:02d}" in arrays:
                        points, labels = (arrays[f"{name}_{end['tasks_learnt']:02d}"] for name in _ARRAYS)
                        if points.shape != (len(labels), 2) or labels.ndim != 1:
                            raise ValueError("wrong shape")
                        found = {"points": points.tolist(), "labels": labels.tolist()}
                        end["embedding"] = {**end.get("embedding", {}), **found}
        except Exception as error:  # NumPy raises many kinds of errors for damaged archives and headers
            raise ConfigError(f"{directory.embedding} does not contain the points of embeddings") from error
    return content


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class MemorySpectrum(_Part):
    """The lowest eigenvalues of the memory's graph, ascending, and the gap λ_{p+1} - λ_p for p classes.

    Example:
        >>> from casper.runs import MemorySpectrum
        >>> MemorySpectrum(eigenvalues=(0.0, 0.25, 0.75), num_classes=2, eigengap=0.5).eigengap
        0.5
    """

    eigenvalues: tuple[float, ...] = Field(min_length=1)
    num_classes: int
    eigengap: float | None = None
    num_components: int = 1


class Embedding(_Part):
    """Features embedded in the plane: a point and a class per item, and the purity of neighbourhoods in percent.

    The points are stored in a separate file, which may be missing.

    Example:
        >>> from casper.runs import Embedding
        >>> embedding = Embedding(points=((0.0, 1.0), (2.0, 3.0)), labels=(0, 1), purity=50.0)
        >>> len(embedding.points), embedding.purity
        (2, 50.0)
    """

    points: tuple[tuple[float, float], ...] = ()
    labels: tuple[int, ...] = ()
    purity: float | None = None
    purity_most: float | None = None

    @model_validator(mode="after")
    def _as_many_labels_as_points(self) -> "Embedding":
        if len(self.points) != len(self.labels):
            raise ValueError("points and labels must have the same length")
        return self


class SmallGraph(_Part):
    """The graph of a replay batch: points in the plane with their classes, edges between them, all eigenvalues."""

    points: tuple[tuple[float, float], ...]
    labels: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]
    eigenvalues: tuple[float, ...] = Field(min_length=1)
    num_classes: int
    eigengap: float | None = None

    @model_validator(mode="after")
    def _of_the_same_points(self) -> "SmallGraph":
        if len(self.points) != len(self.labels):
            raise ValueError("points and labels must have the same length")
        if not all(0 <= end < len(self.points) for edge in self.edges for end in edge):
            raise ValueError("edges must connect points")
        return self


class TaskEnd(_Part):
    """The latent space after a number of tasks, at least 1; a value is None if it does not exist (without a memory).

    Example:
        >>> from casper.runs import TaskEnd
        >>> end = TaskEnd(tasks_learnt=2, label_signal_variation=0.5)
        >>> end.tasks_learnt, end.spectrum is None
        (2, True)
    """

    tasks_learnt: int
    label_signal_variation: float | None = None
    label_signal_variation_share: float | None = None
    label_signal_variation_least: float | None = None
    spectrum: MemorySpectrum | None = None
    embedding: Embedding | None = None
    replay_batch: SmallGraph | None = None


class FunctionalMap(_Part):
    """A functional map C between the spectra at two task ends, and its off-diagonal energy OD_E.

    Example:
        >>> from casper.runs import FunctionalMap
        >>> layout = {"from": 2, "to": 5, "off_diagonal_energy": 0.0, "matrix": [[1.0, 0.0], [0.0, 1.0]]}
        >>> found = FunctionalMap.model_validate(layout)
        >>> found.start, found.end
        (2, 5)
    """

    start: int = Field(alias="from")
    end: int = Field(alias="to")
    num_components: tuple[int, ...] = ()
    off_diagonal_energy: float
    matrix: tuple[tuple[float, ...], ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _square(self) -> "FunctionalMap":
        if any(len(row) != len(self.matrix) for row in self.matrix):
            raise ValueError("matrix must be square")
        return self


class Analysis(_Part):
    """The content of `analysis.json`: task ends in order, functional maps between some of them, neighbours per graph.

    Files of earlier versions have one number of neighbours for all graphs, `num_neighbors`.

    Example:
        >>> from casper.runs import Analysis
        >>> analysis = Analysis.model_validate({"task_ends": [{"tasks_learnt": 1, "label_signal_variation": 0.5}]})
        >>> analysis.task_ends[0].label_signal_variation
        0.5
    """

    num_neighbors: int = 10
    sigma_neighbors: int | None = None
    map_neighbors: int | None = None
    task_ends: tuple[TaskEnd, ...]
    functional_maps: tuple[FunctionalMap, ...] = ()


def parse_analysis(layout: dict[str, Any]) -> Analysis | None:
    """Parse the content of `analysis.json`. Returns None if it has another layout."""
    try:
        return Analysis.model_validate(layout)
    except ValidationError:
        return None
