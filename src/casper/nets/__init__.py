"""Networks: images in, features, logits and stage maps out; and classification by means and neighbours."""

from casper.nets.backbone import Backbone
from casper.nets.batch_norm import batch_norms, recompute_statistics, set_statistics, untouched_statistics
from casper.nets.classifier import FeatureClassifier, Precision, can_be_channels_last, snapshot
from casper.nets.convnet import ConvNet
from casper.nets.efficientnet import EfficientNetB2
from casper.nets.heads import PolytopeHead, ProjectionHead, ProxyHead, simplex_vertices
from casper.nets.inference import CHUNK, Piecewise, at_once, evaluating, features_of
from casper.nets.kmeans import kmeans_centres
from casper.nets.knn import majority_vote, nearest_class_vote, weighted_vote
from casper.nets.mlp import MLP
from casper.nets.nearest_mean import class_means, nearest_mean_scores
from casper.nets.resnet import ResNet18
from casper.nets.timm_backbone import TimmBackbone

__all__ = [
    "CHUNK",
    "MLP",
    "Backbone",
    "ConvNet",
    "EfficientNetB2",
    "FeatureClassifier",
    "Piecewise",
    "PolytopeHead",
    "Precision",
    "ProjectionHead",
    "ProxyHead",
    "ResNet18",
    "TimmBackbone",
    "at_once",
    "batch_norms",
    "can_be_channels_last",
    "class_means",
    "evaluating",
    "features_of",
    "kmeans_centres",
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
