"""Pure functions of logits, maps or features, one family per file."""

from casper.losses.asymmetric import asymmetric_cross_entropy, kept_columns
from casper.losses.columns import restricted
from casper.losses.constraints import future_violation, mean_violation, past_violation
from casper.losses.cross_space import controlled_transfer, cross_space_clustering
from casper.losses.distillation import distillation_loss, distillation_targets
from casper.losses.mixup import Mixing, draw_mixing
from casper.losses.pod import pod_flat, pod_spatial
from casper.losses.proxy_hinge import proxy_hinge
from casper.losses.pseudo_labels import pseudo_labels
from casper.losses.sharpening import sharpened_mean
from casper.losses.supervised_contrastive import supervised_contrastive
from casper.losses.transplant import outgrown, transplant
from casper.losses.triplet import hard_triplet_loss, negatives_loss

__all__ = [
    "Mixing",
    "asymmetric_cross_entropy",
    "controlled_transfer",
    "cross_space_clustering",
    "distillation_loss",
    "distillation_targets",
    "draw_mixing",
    "future_violation",
    "hard_triplet_loss",
    "kept_columns",
    "mean_violation",
    "negatives_loss",
    "outgrown",
    "past_violation",
    "pod_flat",
    "pod_spatial",
    "proxy_hinge",
    "pseudo_labels",
    "restricted",
    "sharpened_mean",
    "supervised_contrastive",
    "transplant",
]
