"""A frozen copy of a network."""

from copy import deepcopy

from casper.nets.classifier import FeatureClassifier


def snapshot(net: FeatureClassifier) -> FeatureClassifier:
    """Copy a network as it is, in evaluation mode and without gradients: a teacher for what comes after."""
    return deepcopy(net).eval().requires_grad_(False)
