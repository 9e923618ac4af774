"""What a run's latent space was found to be, as far as figures show it: the layout of `analysis.json`."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Spectrum(_Part):
    """The lowest eigenvalues of the memory's graph, ascending, and its gap λ_{p+1} - λ_p (p: the number of classes)."""

    eigenvalues: tuple[float, ...] = Field(min_length=1)
    num_classes: int
    eigengap: float | None = None
    num_components: int = 1


class Embedding(_Part):
    """A picture of features in the plane: a point and a class per item, and how pure neighbourhoods are in percent.

    The points lie in a file of their own, and may be missing.
    """

    points: tuple[tuple[float, float], ...] = ()
    labels: tuple[int, ...] = ()
    purity: float | None = None
    purity_most: float | None = None

    @model_validator(mode="after")
    def _as_many_labels_as_points(self) -> "Embedding":
        if len(self.points) != len(self.labels):
            raise ValueError("labels should be as many as points")
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
            raise ValueError("labels should be as many as points")
        if not all(0 <= end < len(self.points) for edge in self.edges for end in edge):
            raise ValueError("edges should join points")
        return self


class TaskEnd(_Part):
    """The latent space after some tasks, counted from 1; None: there is no such thing, as without a memory."""

    tasks_learnt: int
    label_signal_variation: float | None = None
    label_signal_variation_share: float | None = None
    label_signal_variation_least: float | None = None
    spectrum: Spectrum | None = None
    embedding: Embedding | None = None
    replay_batch: SmallGraph | None = None


class FunctionalMap(_Part):
    """A map C between the spectra at two task ends, and its energy off the diagonal, OD_E."""

    start: int = Field(alias="from")
    end: int = Field(alias="to")
    num_components: tuple[int, ...] = ()
    off_diagonal_energy: float
    matrix: tuple[tuple[float, ...], ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _square(self) -> "FunctionalMap":
        if any(len(row) != len(self.matrix) for row in self.matrix):
            raise ValueError("matrix should be square")
        return self


class Analysis(_Part):
    """All of it: the task ends in their order, the maps between some of them, and the neighbours in every graph."""

    num_neighbors: int = 10

    task_ends: tuple[TaskEnd, ...]
    functional_maps: tuple[FunctionalMap, ...] = ()


def parse_analysis(layout: dict[str, Any]) -> Analysis | None:
    """Read an analysis; None: the file has another layout."""
    try:
        return Analysis.model_validate(layout)
    except ValidationError:
        return None
