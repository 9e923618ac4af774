"""Points in separate groups, whose graph is known."""

import torch


def blobs(num_groups, size, seed=0, dim=6):
    """Make groups of points so far apart that no neighbour is in another one: features and labels."""
    generator = torch.Generator().manual_seed(seed)
    centres = 100.0 * torch.eye(num_groups, max(dim, num_groups), dtype=torch.float64)
    noise = torch.randn(num_groups * size, centres.shape[1], generator=generator, dtype=torch.float64)
    return centres.repeat_interleave(size, dim=0) + noise, torch.arange(num_groups).repeat_interleave(size)
