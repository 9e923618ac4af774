"""Heads that compute logits or projections from features: polytope (X-DER), projection (SCR), proxies (PODNet)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from casper._repr import ShowsSettings
from casper.errors import require


def simplex_vertices(num_classes: int) -> Tensor:
    """Compute N unit vectors in N-1 dimensions, all pairs of which have the same distance.

    Start from e_1, ..., e_{N-1} and a * (1, ..., 1) with a = (1 - sqrt N) / (N - 1), move the centroid to 0 and divide
    by the common norm. Then S^T S = N/(N-1) I - 1/(N-1) 11^T, and every row of S sums to 0.

    Args:
        num_classes: The number N of vectors, at least 2.

    Returns:
        Tensor S of shape (N-1, N), float32, one vector per column.

    Example:
        >>> import torch
        >>> from casper.nets import simplex_vertices
        >>> vertices = simplex_vertices(4)
        >>> vertices.shape, bool((vertices.norm(dim=0) - 1).abs().max() < 1e-6)
        (torch.Size([3, 4]), True)
    """
    require(num_classes >= 2, "num_classes", "at least 2", num_classes)
    last = torch.full((num_classes - 1, 1), (1 - math.sqrt(num_classes)) / (num_classes - 1), dtype=torch.float64)
    corners = torch.cat([torch.eye(num_classes - 1, dtype=torch.float64), last], dim=1)
    centred = corners - corners.mean(dim=1, keepdim=True)
    return F.normalize(centred, dim=0).float()


class PolytopeHead(ShowsSettings, nn.Module):
    """Regular Polytope Classifier: logits = v S, with v a trained linear map to N-1 dimensions and S fixed.

    The logits of an item sum to 0, and future classes have their direction from the start. Pernici et al., "Regular
    Polytope Networks" (TNNLS 2021); S is `simplex_vertices`.

    Example:
        >>> import torch
        >>> from casper.nets import PolytopeHead
        >>> logits = PolytopeHead(8, num_classes=10)(torch.ones(2, 8))
        >>> logits.shape, bool(logits.sum(dim=1).abs().max() < 1e-5)
        (torch.Size([2, 10]), True)
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


class ProjectionHead(ShowsSettings, nn.Module):
    """Two linear layers with a ReLU between them, dim -> dim -> size; the output is scaled to length 1.

    Khosla et al., "Supervised Contrastive Learning" (NeurIPS 2020), as in SCR.

    Example:
        >>> import torch
        >>> from casper.nets import ProjectionHead
        >>> projections = ProjectionHead(8, size=4)(torch.ones(2, 8))
        >>> projections.shape, bool((projections.norm(dim=1) - 1).abs().max() < 1e-5)
        (torch.Size([2, 4]), True)
    """

    def __init__(self, dim: int, *, size: int = 128) -> None:
        """Build the head.

        Args:
            dim: The number of features.
            size: The dimension of a projection. Default 128: SCR's.
        """
        super().__init__()
        require(size >= 1, "size", "at least 1", size)
        self.hidden = nn.Linear(dim, dim)
        self.output = nn.Linear(dim, size)

    def forward(self, features: Tensor) -> Tensor:
        """Compute projections of shape (n, size), each of length 1."""
        projections = self.output(self.hidden(features).relu())
        return F.normalize(projections.to(self.output.weight.dtype))  # half precision is too coarse for length 1


class ProxyHead(ShowsSettings, nn.Module):
    """Local-similarity classifier of PODNet: K proxies per class; proxies and features lie on a sphere of radius s.

    With f = s * features / ||features|| and the proxies θ_{c,k} scaled in the same way, r_{c,k} = -||f - θ_{c,k}||² and
    logit_c = Σ_k softmax_k(r_c)_k * r_{c,k}. Since both have length s, r = -2 s² (1 - cos). Douillard et
    al., "PODNet" (ECCV 2020).

    Example:
        >>> import torch
        >>> from casper.nets import ProxyHead
        >>> logits = ProxyHead(8, num_classes=10)(torch.ones(2, 8))
        >>> logits.shape, bool((logits <= 1e-5).all())
        (torch.Size([2, 10]), True)
    """

    def __init__(self, dim: int, num_classes: int, *, num_proxies: int = 10, scale: float = 3.0) -> None:
        """Build the head.

        Args:
            dim: The number of features.
            num_classes: The number N of classes.
            num_proxies: The number K of proxies per class. Default 10: the paper's.
            scale: The radius s. Default 3: the paper's.
        """
        super().__init__()
        require(num_proxies >= 1, "num_proxies", "at least 1", num_proxies)
        require(0 < scale < math.inf, "scale", "a positive finite number", scale)
        self.scale = scale
        # Uniform in ±1 / sqrt(K N), which is what the released code's initialisation amounts to.
        bound = 1 / math.sqrt(num_proxies * num_classes)
        self.proxies = nn.Parameter(torch.empty(num_classes, num_proxies, dim).uniform_(-bound, bound))

    def forward(self, features: Tensor) -> Tensor:
        """Compute logits of shape (n, N), all at most 0."""
        num_classes, num_proxies, dim = self.proxies.shape
        directions = F.normalize(self.proxies, dim=2).view(-1, dim)
        with torch.autocast(features.device.type, enabled=False):  # differences of cosines need full precision
            cosines = F.normalize(features.to(directions.dtype)) @ directions.T
        similarities = 2 * self.scale**2 * (cosines - 1).view(-1, num_classes, num_proxies)
        return (similarities.softmax(dim=2) * similarities).sum(dim=2)

    @torch.no_grad()
    def imprint(self, label: int, centres: Tensor) -> None:
        """Set the first k proxies of a class to given vectors of shape (k, dim), k <= K; the others are unchanged."""
        self.proxies[label, : len(centres)] = centres
