"""A regularizer's own pass through the network."""

from torch import Tensor

from casper.nets import FeatureClassifier, untouched_statistics


def extra_pass(net: FeatureClassifier, inputs: Tensor, *, update_statistics: bool) -> Tensor:
    """Compute features in the network's mode, with or without an effect on BatchNorm's running statistics.

    Args:
        net: The network under training.
        inputs: Tensor of shape (n, c, h, w).
        update_statistics: Whether a pass in training mode updates them, as every pass of a method does.

    Returns:
        Tensor of shape (n, d).
    """
    if update_statistics:
        return net(inputs).features
    with untouched_statistics(net):
        return net(inputs).features
