"""Networks: images in, features, logits and stage maps out."""

from casper.nets.backbone import Backbone
from casper.nets.classifier import FeatureClassifier, Precision
from casper.nets.convnet import ConvNet
from casper.nets.mlp import MLP
from casper.nets.statistics import batch_norms, recompute_statistics, untouched_statistics

__all__ = [
    "MLP",
    "Backbone",
    "ConvNet",
    "FeatureClassifier",
    "Precision",
    "batch_norms",
    "recompute_statistics",
    "untouched_statistics",
]
