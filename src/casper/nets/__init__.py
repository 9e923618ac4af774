"""Networks that compute features, logits and stage maps; classification by class means and nearest neighbours."""

from casper.nets.adapter import Adapter
from casper.nets.backbone import Backbone
from casper.nets.batch_norm import batch_norms, recompute_statistics, set_statistics, untouched_statistics
from casper.nets.classifier import FeatureClassifier, Precision, can_be_channels_last, check_weights, snapshot
from casper.nets.convnet import ConvNet
from casper.nets.efficientnet import EfficientNetB2, EfficientNetLite0
from casper.nets.heads import PolytopeHead, ProjectionHead, ProxyHead, simplex_vertices
from casper.nets.inference import CHUNK, Compute, compute_now, evaluating, features_of
from casper.nets.knn import majority_vote, nearest_class_vote, weighted_vote
from casper.nets.mlp import MLP
from casper.nets.nearest_mean import class_means, nearest_mean_scores
from casper.nets.resnet import ResNet18
from casper.nets.timm_backbone import TimmBackbone
from casper.nets.trunk import FileTrunk, Lite0Trunk, TimmTrunk, Trunk, check_trunk, checksum_of_weights, fingerprint

__all__ = [
    "CHUNK",
    "MLP",
    "Adapter",
    "Backbone",
    "Compute",
    "ConvNet",
    "EfficientNetB2",
    "EfficientNetLite0",
    "FeatureClassifier",
    "FileTrunk",
    "Lite0Trunk",
    "PolytopeHead",
    "Precision",
    "ProjectionHead",
    "ProxyHead",
    "ResNet18",
    "TimmBackbone",
    "TimmTrunk",
    "Trunk",
    "batch_norms",
    "can_be_channels_last",
    "check_trunk",
    "check_weights",
    "checksum_of_weights",
    "class_means",
    "compute_now",
    "evaluating",
    "features_of",
    "fingerprint",
    "majority_vote",
    "nearest_class_vote",
    "nearest_mean_scores",
    "recompute_statistics",
    "set_statistics",
    "simplex_vertices",
    "snapshot",
    "untouched_statistics",
    "weighted_vote",
]
