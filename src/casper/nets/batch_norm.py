"""BatchNorm's running statistics: protect them from updates, or recompute them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from casper.nets.inference import Compute, compute_now


def batch_norms(net: nn.Module) -> list[_BatchNorm]:
    """List the BatchNorm layers that track running statistics.

    Example:
        >>> from casper.nets import ConvNet, batch_norms
        >>> len(batch_norms(ConvNet((1, 8, 8))))
        4
    """
    return [module for module in net.modules() if isinstance(module, _BatchNorm) and module.track_running_stats]


@contextmanager
def untouched_statistics(net: nn.Module) -> Iterator[None]:
    """Run forward passes in training mode with batch statistics, without updating the running statistics.

    Example:
        >>> import torch
        >>> from casper.nets import untouched_statistics
        >>> layer = torch.nn.BatchNorm1d(2)
        >>> with untouched_statistics(layer):
        ...     print(layer(torch.ones(4, 2)).shape, layer.running_mean)
        torch.Size([4, 2]) tensor([0., 0.])
    """
    layers = batch_norms(net)
    for layer in layers:
        layer.track_running_stats = False
    try:
        yield
    finally:
        for layer in layers:
            layer.track_running_stats = True


@torch.no_grad()
def recompute_statistics(net: nn.Module, batches: Iterable[Tensor], compute: Compute = compute_now) -> Tensor:
    """Replace the running statistics by their plain average over the given batches of inputs.

    Args:
        net: The network; only its BatchNorm statistics change. Its mode is restored afterwards.
        batches: Inputs of shape (n, c, h, w) each.
        compute: Called with the forward pass of every batch.

    Returns:
        The statistics, for `set_statistics`.

    Example:
        >>> import torch
        >>> from casper.nets import recompute_statistics
        >>> layer = torch.nn.BatchNorm2d(1)
        >>> batches = [torch.full((4, 1, 2, 2), value) for value in (1.0, 3.0)]
        >>> recompute_statistics(layer, batches)[:1]
        tensor([2.])
    """
    layers = batch_norms(net)
    modes = {module: module.training for module in net.modules()}
    momenta = [layer.momentum for layer in layers]
    net.eval()  # no dropout
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # PyTorch's cumulative average
        layer.train()
    try:
        for number, inputs in enumerate(batches, start=1):
            set_statistics(net, compute(lambda inputs=inputs: _after(inputs, net)))  # type: ignore[misc]
            for layer in layers:  # a cached pass does not update the counter
                assert layer.num_batches_tracked is not None
                layer.num_batches_tracked.fill_(number)
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        for module, mode in modes.items():
            module.training = mode
    return _statistics(net)


def _statistics(net: nn.Module) -> Tensor:
    """Concatenate the running means and variances of all BatchNorm layers; empty if there are none."""
    return torch.cat(_running(net)) if batch_norms(net) else torch.empty(0)


def set_statistics(net: nn.Module, statistics: Tensor) -> None:
    """Restore statistics returned by `recompute_statistics`, in this network or in one of the same architecture.

    Example:
        >>> import torch
        >>> from casper.nets import recompute_statistics, set_statistics
        >>> first, second = torch.nn.BatchNorm1d(1), torch.nn.BatchNorm1d(1)
        >>> set_statistics(second, recompute_statistics(first, [torch.full((4, 1), 2.0)]))
        >>> second.running_mean
        tensor([2.])
    """
    running = _running(net)
    for each, value in zip(running, statistics.split([len(each) for each in running]), strict=True):
        each.copy_(value)


def _running(net: nn.Module) -> list[Tensor]:
    return [each for layer in batch_norms(net) for each in (layer.running_mean, layer.running_var) if each is not None]


def _after(inputs: Tensor, net: nn.Module) -> Tensor:
    net(inputs)
    return _statistics(net)
