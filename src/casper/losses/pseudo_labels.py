"""Labels that a network gives itself."""

import torch
from torch import Tensor


def pseudo_labels(labels: Tensor, logits: Tensor, columns: Tensor, threshold: float) -> Tensor:
    """Label the items without a label by their highest logit, where it leads the second highest by enough.

    Args:
        labels: Tensor of shape (n,); -1: hidden.
        logits: Tensor of shape (n, N).
        columns: Tensor of shape (c,), int64: the classes that compete.
        threshold: By how much a class must lead; a class alone always does.

    Returns:
        Tensor of shape (n,): labels that were there stay, and -1 stays where no class leads by more than the threshold.
    """
    competing = logits[:, columns]
    highest, places = competing.topk(min(2, len(columns)), dim=1)
    lead = highest[:, 0] - highest[:, 1] if len(columns) > 1 else torch.full_like(highest[:, 0], torch.inf)
    return torch.where((labels < 0) & (lead > threshold), columns[places[:, 0]], labels)
