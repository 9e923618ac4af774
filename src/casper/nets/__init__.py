"""Networks: images in, features, logits and stage maps out."""

from casper.nets.backbone import Backbone
from casper.nets.classifier import FeatureClassifier, Precision
from casper.nets.convnet import ConvNet
from casper.nets.efficientnet import EfficientNetB2
from casper.nets.memory_format import can_be_channels_last
from casper.nets.mlp import MLP
from casper.nets.resnet import ResNet18
from casper.nets.statistics import batch_norms, recompute_statistics, untouched_statistics
from casper.nets.timm_backbone import TimmBackbone

__all__ = [
    "MLP",
    "Backbone",
    "ConvNet",
    "EfficientNetB2",
    "FeatureClassifier",
    "Precision",
    "ResNet18",
    "TimmBackbone",
    "batch_norms",
    "can_be_channels_last",
    "recompute_statistics",
    "untouched_statistics",
]
