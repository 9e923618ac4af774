"""Pure functions of logits or features, one family per file."""

from casper.losses.asymmetric import asymmetric_cross_entropy, kept_columns

__all__ = ["asymmetric_cross_entropy", "kept_columns"]
