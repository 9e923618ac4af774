"""A head whose class directions are fixed: the corners of a regular polytope."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from casper.errors import require


def simplex_vertices(num_classes: int) -> Tensor:
    """Place N unit vectors in N-1 dimensions so that all pairs are equally far apart.

    Starts from e_1, ..., e_{N-1} and a * (1, ..., 1) with a = (1 - sqrt N) / (N - 1), moves their centroid to 0 and
    divides by the common norm. So S^T S = N/(N-1) I - 1/(N-1) 11^T, and every row of S sums to 0.

    Args:
        num_classes: The number N of vectors, at least 2.

    Returns:
        Tensor S of shape (N-1, N), float32, one vector per column.
    """
    require(num_classes >= 2, "num_classes", "at least 2", num_classes)
    last = torch.full((num_classes - 1, 1), (1 - math.sqrt(num_classes)) / (num_classes - 1), dtype=torch.float64)
    corners = torch.cat([torch.eye(num_classes - 1, dtype=torch.float64), last], dim=1)
    centred = corners - corners.mean(dim=1, keepdim=True)
    return F.normalize(centred, dim=0).float()


class PolytopeHead(nn.Module):
    """Regular Polytope Classifier: logits = v S, v a trained linear map to N-1 dimensions, S fixed.

    The logits of an item sum to 0, and classes to come have their direction from the start. Pernici et al., "Regular
    Polytope Networks" (TNNLS 2021); S is `simplex_vertices`.
    """

    vertices: Tensor

    def __init__(self, dim: int, num_classes: int) -> None:
        """Build the head.

        Args:
            dim: The number of features.
            num_classes: The number N of classes, at least 2.
        """
        super().__init__()
        self.register_buffer("vertices", simplex_vertices(num_classes), persistent=False)
        self.linear = nn.Linear(dim, num_classes - 1)

    def forward(self, features: Tensor) -> Tensor:
        """Compute logits of shape (n, N)."""
        embedding = self.linear(features)
        with torch.autocast(features.device.type, enabled=False):  # so that the logits still sum to 0
            return torch.matmul(embedding.to(self.vertices.dtype), self.vertices)
