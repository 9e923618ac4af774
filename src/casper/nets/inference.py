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
    """Put a network into evaluation mode and disable gradients; its mode is restored afterwards.

    Example:
        >>> import torch
        >>> from casper.nets import evaluating
        >>> net = torch.nn.Dropout()
        >>> with evaluating(net):
        ...     print(net.training, torch.is_grad_enabled())
        False False
    """
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
    """Call the function without caching its result.

    Example:
        >>> import torch
        >>> from casper.nets import compute_now
        >>> compute_now(lambda: torch.ones(2))
        tensor([1., 1.])
    """
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

    Example:
        >>> import torch
        >>> from casper.nets import MLP, FeatureClassifier, features_of
        >>> net = FeatureClassifier(MLP((1, 8, 8)), torch.nn.Linear(100, 10))
        >>> images = torch.zeros(3, 1, 8, 8, dtype=torch.uint8)
        >>> features_of(net, images, view=lambda images: images / 255).shape
        torch.Size([3, 100])
    """
    with evaluating(net):
        if len(images) == 0:
            return torch.empty(0, net.backbone.dim, device=images.device)
        return torch.cat([compute(lambda chunk=chunk: net(view(chunk)).features) for chunk in images.split(CHUNK)])  # type: ignore[misc]
