"""Continual-learning methods, one per file.

In the docstrings, "the paper" is "Latent Spectral Regularization for Continual Learning", whose experiments the
methods reproduce; the publication of a method is cited by name.
"""

from casper.methods.base import Method, Phase
from casper.methods.bounds import Finetune, Joint
from casper.methods.ccic import CCIC
from casper.methods.der_pp import DERpp
from casper.methods.er import ER
from casper.methods.er_ace import ERACE
from casper.methods.icarl import ICaRL
from casper.methods.podnet import PODNet, kmeans_centres
from casper.methods.pser_ace import PsERACE
from casper.methods.scr import SCR
from casper.methods.xder import XDER

__all__ = [
    "CCIC",
    "ER",
    "ERACE",
    "SCR",
    "XDER",
    "DERpp",
    "Finetune",
    "ICaRL",
    "Joint",
    "Method",
    "PODNet",
    "Phase",
    "PsERACE",
    "kmeans_centres",
]
