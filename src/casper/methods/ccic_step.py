"""What CCIC works on in one step."""

from dataclasses import dataclass

import torch
from torch import Tensor

from casper.losses import Mixing
from casper.step import Step
from casper.types import Batch


@dataclass(frozen=True, kw_only=True)
class CCICStep(Step):
    """What one update looks at, beside the stream's batch; a plain `Step`: there is nothing to learn from.

    Attributes:
        labelled: All items of the labelled ring, then the replayed ones.
        num_recent: How many of them are the ring's.
        views: Tensor of shape (3 n, c, h, w): three views of each of the stream's n unlabelled items.
        mixing: Mixes the labelled items and the views, one after the other, with each other.
        triplet_mixing: Mixes the labelled items among themselves; None: they stay as they are.
        domains: All items of the unlabelled ring (label 0), and items of other tasks (1); None: one of them is missing.
    """

    labelled: Batch
    num_recent: int
    views: Tensor
    mixing: Mixing
    triplet_mixing: Mixing | None
    domains: Batch | None


def joined(*batches: Batch) -> Batch:
    """Put batches one after the other."""
    return Batch(
        torch.cat([batch.images for batch in batches]),
        torch.cat([batch.labels for batch in batches]),
        torch.cat([batch.inputs for batch in batches]),
    )
