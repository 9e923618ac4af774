"""A head that projects features onto a sphere, for losses that compare items with each other."""

import torch.nn.functional as F
from torch import Tensor, nn

from casper.errors import require


class ProjectionHead(nn.Module):
    """Two linear layers with a ReLU between them: dim -> dim -> size, and the result scaled to length 1.

    Khosla et al., "Supervised Contrastive Learning" (NeurIPS 2020), as in SCR.
    """

    def __init__(self, dim: int, *, size: int = 128) -> None:
        """Build the head.

        Args:
            dim: The number of features.
            size: The number of dimensions of a projection. Default 128: SCR's.
        """
        super().__init__()
        require(size >= 1, "size", "at least 1", size)
        self.hidden = nn.Linear(dim, dim)
        self.output = nn.Linear(dim, size)

    def forward(self, features: Tensor) -> Tensor:
        """Compute projections of shape (n, size), each of length 1."""
        projections = self.output(self.hidden(features).relu())
        return F.normalize(projections.to(self.output.weight.dtype))  # half precision cannot hold a length of 1
