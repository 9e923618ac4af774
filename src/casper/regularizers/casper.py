"""CaSpeR: replayed classes should form separate communities of the latent graph."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from torch import Generator, Tensor

from casper.errors import require, require_weights
from casper.regularizers.base import Regularizer
from casper.regularizers.replay_pass import ReplayPass, Sampling
from casper.spectral import Convention, SurrogateMetric, all_finite, gap_convention, spectral_gap_loss
from casper.step import Step
from casper.types import Outputs

GapAt = Literal["drawn", "asked"]


class CaSpeR(Regularizer):
    """Open the spectral gap of the graph of replayed features at the number of classes among them.

    From the second task on, every step draws t = b/p items of each of p random classes of the memory, passes them
    through the network and adds weight * (Σ_{j=1..p} λ_j - λ_{p+1}), λ being the eigenvalues of the normalised
    Laplacian of the features' k-NN graph. "Latent Spectral Regularization for Continual Learning", Equation 6;
    `sampling="all"` is its Equation 5. There is no term in a step whose draw holds fewer than two classes or too few
    items.
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
    ) -> None:
        """Set the hyper-parameters. The paper tunes weight, p and k for each data set, method and memory size.

        Args:
            weight: The paper's rho; 1e-4 to 1e-2 there.
            num_classes: The number p of classes in a draw; 2 to 20 in the paper.
            num_neighbors: The number k of neighbours in the graph; 3 to 20 in the paper, mostly with p * k near b.
            num_samples: The number of items in a draw. Default: the batch size b, as in the paper.
            sampling: `"balanced"`, as in the paper; `"uniform"` where labels are not to be trusted; `"all"`: every row
                of the memory.
            gap_at: Where the gap is opened: at the number of classes `"drawn"`, or at the number p `"asked"` for, even
                where fewer were to be had. Default by convention: drawn (paper), asked (released).
            update_statistics: Whether the extra pass updates BatchNorm's running statistics. Default: it does, as in
                the released code; see the control `forward-only`.
            convention: `"paper"`: the published formula. `"released"`: every choice of the released code.
            gap_offset: See `spectral_gap_loss`; default by convention.
            surrogate_metric: See `spectral_gap_loss`; default by convention.
            self_neighbor: See `spectral_gap_loss`; default by convention.
        """
        require_weights(weight=weight)
        require(num_neighbors >= 1, "num_neighbors", "at least 1", num_neighbors)
        require(gap_at in (None, "drawn", "asked"), "gap_at", "'drawn' or 'asked'", gap_at)
        released = convention == "released"
        self.weight = weight
        self.num_neighbors = num_neighbors
        self.gap_at: GapAt = gap_at or ("asked" if released else "drawn")
        self.choices = gap_convention(convention, gap_offset, surrogate_metric, self_neighbor)
        self.replay = ReplayPass(num_classes, num_samples, sampling, update_statistics, shrink=released)

    def check(self, *, batch_size: int) -> None:
        """Refuse p or k that no draw can meet."""
        self.replay.check(self.num_neighbors, batch_size)

    def loss(self, step: Step, passes: Mapping[str, Outputs], generator: Generator) -> Tensor | None:
        """Compute the spectral gap loss of a draw from the memory."""
        rows = self.replay.rows(step, generator)
        if rows is None:
            return None
        features = self.replay.features(step, rows, generator)
        drawn = len(step.memory.labels[rows].unique())
        asked = self.replay.num_classes if self.gap_at == "asked" and self.replay.sampling != "all" else drawn
        if len(features) <= asked + self.choices.gap_offset or not all_finite(features):
            return None
        return spectral_gap_loss(
            features,
            asked,
            self.num_neighbors,
            gap_offset=self.choices.gap_offset,
            surrogate_metric=self.choices.surrogate_metric,
            self_neighbor=self.choices.self_neighbor,
        )
