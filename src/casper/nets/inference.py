"""Forward passes without training."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from casper.nets.classifier import FeatureClassifier

# The number of images per forward pass: large enough to be fast, small enough to fit in memory.
CHUNK = 500


@contextmanager
def evaluating(net: nn.Module) -> Iterator[None]:
    """Put a network into evaluation mode and disable gradients; its mode is restored afterwards."""
    training = net.training
    net.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        net.train(training)


# Takes a long computation and returns its result: computed now, or cached by an interrupted run.
Compute = Callable[[Callable[[], Tensor]], Tensor]


def compute_now(function: Callable[[], Tensor]) -> Tensor:
    """Call the function without caching its result."""
    return function()


def features_of(
    net: FeatureClassifier, images: Tensor, view: Callable[[Tensor], Tensor], compute: Compute = compute_now
) -> Tensor:
    """Compute the features of stored images in evaluation mode.

    Args:
        net: The network; not modified.
        images: Tensor of shape (n, c, h, w), uint8.
        view: Converts images to inputs.
        compute: Called with the forward pass of every chunk.

    Returns:
        Tensor of shape (n, d), without gradient.
    """
    with evaluating(net):
        if len(images) == 0:
            return torch.empty(0, net.backbone.dim, device=images.device)
        return torch.cat([compute(lambda chunk=chunk: net(view(chunk)).features) for chunk in images.split(CHUNK)])  # type: ignore[misc]
