"""BatchNorm's running statistics: leave them alone, or compute them anew."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm


def batch_norms(net: nn.Module) -> list[_BatchNorm]:
    """List the BatchNorm layers that keep running statistics."""
    return [module for module in net.modules() if isinstance(module, _BatchNorm) and module.track_running_stats]


@contextmanager
def untouched_statistics(net: nn.Module) -> Iterator[None]:
    """Let forward passes in training mode use the batch's statistics without updating the running ones."""
    layers = batch_norms(net)
    for layer in layers:
        layer.track_running_stats = False
    try:
        yield
    finally:
        for layer in layers:
            layer.track_running_stats = True


@torch.no_grad()
def recompute_statistics(net: nn.Module, batches: Iterable[Tensor]) -> None:
    """Replace the running statistics by their plain average over some batches of inputs.

    Args:
        net: The network; only its BatchNorm statistics change. Its mode is the same afterwards.
        batches: Inputs of shape (n, c, h, w) each.
    """
    layers = batch_norms(net)
    modes = {module: module.training for module in net.modules()}
    momenta = [layer.momentum for layer in layers]
    net.eval()  # dropout stays out of it
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # PyTorch's cumulative average
        layer.train()
    try:
        for inputs in batches:
            net(inputs)
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        for module, mode in modes.items():
            module.training = mode
