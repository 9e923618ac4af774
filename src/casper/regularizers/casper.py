"""CaSpeR: a regularizer that separates replayed classes into communities of the latent graph."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from torch import Generator, Tensor

from casper.errors import require, require_weights
from casper.regularizers.base import Regularizer
from casper.regularizers.passes import ReplayPass, Sampling, StreamPass
from casper.spectral import Convention, SurrogateMetric, all_finite, gap_convention, spectral_gap_loss
from casper.step import Step
from casper.types import Outputs

GapAt = Literal["drawn", "asked"]
StreamGap = Literal["asked", "classes"]


class CaSpeR(Regularizer):
    """Increase the spectral gap of the graph of replayed features at the number of classes among them.

    From the second task on, every step draws t = b/p items of each of p random classes of the memory, passes them
    through the network and adds weight * (Σ_{j=1..p} λ_j - λ_{p+1}), where λ are the eigenvalues of the normalised
    Laplacian of the features' k-NN graph. "Latent Spectral Regularization for Continual Learning", Equation 6;
    `sampling="all"` is its Equation 5. A step has no term if the draw contains fewer than two classes or too few items.

    If the stream hides labels, there is a second term, from the first task on: the same loss for the graph of the whole
    stream batch, labelled or not. The paper takes "k equal to the number of classes in a given task" for it, which can
    be read in two ways. `stream_gap="asked", stream_neighbors="classes"` is the authors' development code: k of the
    k-NN graph is that number, and the gap stays at p; `casper run` sets this. `stream_gap="classes"` puts the gap at
    that number.

    Example:
        >>> from casper import ERACE, MLP, CaSpeR, Trainer, split_digits
        >>> casper = CaSpeR(weight=0.01, num_classes=4, num_neighbors=6)
        >>> trainer = Trainer(split_digits(), ERACE(), regularizers=[casper], backbone=MLP, buffer_size=50, epochs=5)
        >>> trainer.run()["class_il"]["final_average_accuracy"] > 50
        True
    """

    name: ClassVar[str] = "casper"
    generator_name: ClassVar[str] = "casper"

    def __init__(
        self,
        weight: float,
        num_classes: int,
        num_neighbors: int,
        *,
        num_samples: int | None = None,
        sampling: Sampling = "balanced",
        gap_at: GapAt | None = None,
        update_statistics: bool = True,
        convention: Convention = "paper",
        gap_offset: int | None = None,
        surrogate_metric: SurrogateMetric | None = None,
        self_neighbor: bool | None = None,
        trust_labels: bool | None = None,
        stream_term: bool | None = None,
        stream_weight: float | None = None,
        stream_classes: int | None = None,
        stream_neighbors: int | Literal["classes"] | None = None,
        stream_always: bool | None = None,
        stream_gap: StreamGap | None = None,
    ) -> None:
        """Set the hyper-parameters. The paper tunes weight, p and k for each data set, method and memory size.

        Args:
            weight: The paper's rho; 1e-4 to 1e-2 there.
            num_classes: The number p of classes in a draw; 2 to 20 in the paper.
            num_neighbors: The number k of neighbours in the graph; 3 to 20 in the paper, mostly with p * k near b.
            num_samples: The number of items in a draw. Default: the batch size b, as in the paper.
            sampling: `"balanced"`, as in the paper, and uniform if labels are not trusted; `"uniform"`; `"all"`: every
                row of the memory.
            gap_at: The position of the gap: the number of classes `"drawn"`, or the requested number p (`"asked"`),
                even if fewer were available. Default by convention: drawn (paper), asked (released); asked if labels
                are not trusted.
            update_statistics: Whether the extra pass updates BatchNorm's running statistics. Default True, as in the
                released code; see the control `forward-only`.
            convention: `"paper"`: the published formula. `"released"`: every choice of the released code.
            gap_offset: 0: the gap follows the p-th eigenvalue, as in the paper. 1: the next one, as in the released
                code. Default by convention.
            surrogate_metric: The distances in the gradient of the choice of neighbours: `"squared"`, as in the
                released code, or `"plain"`, as in the paper's pseudo-code. The loss has the same value with both.
                Default: squared.
            self_neighbor: Whether each point counts as the first of its k neighbours. Default: False.
            trust_labels: Whether to draw and count classes by the labels in the memory. Default: unless the method
                assigns labels itself.
            stream_term: Whether the stream batch has a term. Default: if the stream hides labels.
            stream_weight: The weight of that term. Default: `weight`. With 0 there is no pass either; the control then
                needs `stream_term=false`.
            stream_classes: The position of its gap, as a number that overrides `stream_gap`.
            stream_neighbors: The number of neighbours in its graph; `"classes"`: the number of classes of the task.
                Default: 6, chosen here; `casper run --labels` sets classes.
            stream_always: Whether the term is also used in steps in which the method has nothing to learn because all
                labels of the batch are hidden. Default: True.
            stream_gap: The position of its gap: p (`"asked"`), or the number of classes of the task (`"classes"`).
                Default: classes; `casper run --labels` sets asked.
        """
        require_weights(weight=weight)
        require(num_neighbors >= 1, "num_neighbors", "at least 1", num_neighbors)
        require(gap_at in (None, "drawn", "asked"), "gap_at", "'drawn' or 'asked'", gap_at)
        if stream_weight is not None:
            require_weights(stream_weight=stream_weight)
            require(
                weight > 0 or stream_weight == 0,
                "stream_weight",
                "0 if weight is 0, which disables both terms",
                stream_weight,
            )
        require(stream_classes is None or stream_classes >= 1, "stream_classes", "at least 1", stream_classes)
        require(
            stream_neighbors in (None, "classes") or int(stream_neighbors) >= 1,
            "stream_neighbors",
            "at least 1, or 'classes'",
            stream_neighbors,
        )
        require(stream_gap in (None, "asked", "classes"), "stream_gap", "'asked' or 'classes'", stream_gap)
        released = convention == "released"
        self.weight = weight
        self.num_neighbors = num_neighbors
        self.gap_at, self._usual_gap_at = gap_at, "asked" if released else "drawn"
        self.choices = gap_convention(convention, gap_offset, surrogate_metric, self_neighbor)
        self.replay = ReplayPass(num_classes, num_samples, sampling, update_statistics, released, trust_labels)
        self.stream = StreamPass(stream_term, stream_always, update_statistics)
        self.stream_weight = weight if stream_weight is None else stream_weight
        self.stream_gap, self.stream_classes, self.stream_neighbors = stream_gap, stream_classes, stream_neighbors

    def check(self, *, batch_size: int) -> None:
        """Raise `ParameterError` if p, k or their counterparts for the stream are not less than the number of items."""
        self.replay.check(self.num_neighbors, batch_size)
        of_stream = {"stream_classes": self.stream_classes, "stream_neighbors": self.stream_neighbors}
        for name, number in of_stream.items():
            fits = not isinstance(number, int) or number < batch_size
            require(fits, name, f"less than the batch of {batch_size} items", number)

    def loss(self, step: Step, passes: Mapping[str, Outputs], generator: Generator) -> Tensor | None:
        """Compute the spectral gap loss of a draw from the memory and, if enabled, of the stream batch."""
        of_memory = self._of_memory(step, generator) if passes else None
        of_stream = self._of_stream(step, passes)
        if of_stream is None:
            return of_memory
        of_stream = self.stream_weight / self.weight * of_stream
        return of_stream if of_memory is None else of_memory + of_stream

    def _of_memory(self, step: Step, generator: Generator) -> Tensor | None:
        rows = self.replay.rows(step, generator)
        if rows is None:
            return None
        features = self.replay.features(step, rows, generator)
        gap_at = self.gap_at or (self._usual_gap_at if self.replay.trusts_labels(step) else "asked")
        by_number = gap_at == "asked" and (self.replay.sampling != "all" or not self.replay.trusts_labels(step))
        communities = self.replay.num_classes if by_number else len(step.memory.labels[rows].unique())
        return self._gap(features, communities, self.num_neighbors)

    def _of_stream(self, step: Step, passes: Mapping[str, Outputs]) -> Tensor | None:
        features = self.stream.features(step, passes) if self.stream_weight else None
        if features is None:
            return None
        classes = len(step.task.classes)
        neighbors = classes if self.stream_neighbors == "classes" else self.stream_neighbors or 6
        communities = self.replay.num_classes if self.stream_gap == "asked" else classes
        return self._gap(features, self.stream_classes or communities, neighbors)  # fewer neighbours in small batches

    def _gap(self, features: Tensor, communities: int, neighbors: int) -> Tensor | None:
        """Compute the loss of a graph; None if there are too few nodes or non-finite features."""
        if len(features) <= communities + self.choices.gap_offset or not all_finite(features):
            return None
        return spectral_gap_loss(features, communities, neighbors, convention=self.choices)
