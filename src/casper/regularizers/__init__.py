"""Regularizers: loss terms that can be added to any method."""

from casper.regularizers.base import Regularizer
from casper.regularizers.casper import CaSpeR
from casper.regularizers.cscct import CSCCT
from casper.regularizers.forward_only import ForwardOnly

__all__ = [
    "CSCCT",
    "CaSpeR",
    "ForwardOnly",
    "Regularizer",
]
