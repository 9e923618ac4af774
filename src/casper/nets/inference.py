"""Passes without training."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from casper.nets.classifier import FeatureClassifier

# How many images are passed at once. Large enough to be quick, small enough for any memory.
CHUNK = 500


@contextmanager
def evaluating(net: nn.Module) -> Iterator[None]:
    """Have a network in evaluation mode and make no gradients; its mode is the same afterwards."""
    training = net.training
    net.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        net.train(training)


# Takes a long computation and returns its result: computed now, or cached by a run that was stopped.
Compute = Callable[[Callable[[], Tensor]], Tensor]


def compute_now(function: Callable[[], Tensor]) -> Tensor:
    """Call the function; nothing is cached."""
    return function()


def features_of(
    net: FeatureClassifier, images: Tensor, view: Callable[[Tensor], Tensor], compute: Compute = compute_now
) -> Tensor:
    """Compute the features of stored images in evaluation mode.

    Args:
        net: The network; unchanged.
        images: Tensor of shape (n, c, h, w), uint8.
        view: Turns images into inputs.
        compute: Receives the pass of every chunk.

    Returns:
        Tensor of shape (n, d), without gradient.
    """
    with evaluating(net):
        if len(images) == 0:
            return torch.empty(0, net.backbone.dim, device=images.device)
        return torch.cat([compute(lambda chunk=chunk: net(view(chunk)).features) for chunk in images.split(CHUNK)])  # type: ignore[misc]
