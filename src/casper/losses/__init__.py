"""Loss functions: pure functions of logits, stage maps or features, one file per method family."""

from casper.losses.contrastive import hard_triplet_loss, negatives_loss, supervised_contrastive
from casper.losses.cscct import controlled_transfer, cross_space_clustering
from casper.losses.er_ace import asymmetric_cross_entropy, kept_columns
from casper.losses.icarl import distillation_loss, distillation_targets
from casper.losses.masking import restricted
from casper.losses.podnet import pod_flat, pod_spatial, proxy_hinge
from casper.losses.semi_supervised import Mixing, draw_mixing, pseudo_labels, sharpened_mean
from casper.losses.xder import future_violation, mean_violation, outgrown, past_violation, transplant

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
