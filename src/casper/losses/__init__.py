"""Pure functions of logits, maps or features, one family per file."""

from casper.losses.asymmetric import asymmetric_cross_entropy, kept_columns
from casper.losses.columns import restricted
from casper.losses.constraints import future_violation, mean_violation, past_violation
from casper.losses.cross_space import controlled_transfer, cross_space_clustering
from casper.losses.distillation import distillation_loss, distillation_targets
from casper.losses.pod import pod_flat, pod_spatial
from casper.losses.proxy_hinge import proxy_hinge
from casper.losses.pseudo_labels import pseudo_labels
from casper.losses.transplant import outgrown, transplant

__all__ = [
    "asymmetric_cross_entropy",
    "controlled_transfer",
    "cross_space_clustering",
    "distillation_loss",
    "distillation_targets",
    "future_violation",
    "kept_columns",
    "mean_violation",
    "outgrown",
    "past_violation",
    "pod_flat",
    "pod_spatial",
    "proxy_hinge",
    "pseudo_labels",
    "restricted",
    "transplant",
]
