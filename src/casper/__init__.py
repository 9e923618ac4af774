"""Continual learning with CaSpeR-IL: shape the spectrum of the latent graph so that replayed classes stay apart.

Three ways to use it:

- the loss, in your own training loop: `spectral_gap_loss(features, num_communities, num_neighbors)`;
- the library: a stream of tasks, a method with any regularizers, and a `Trainer` that takes one through the other;
- the command line: `casper run`, `casper list`, `casper demo`.

Importing this package imports nothing else: each public name is imported when it is first used.
"""

from typing import TYPE_CHECKING

from casper._lazy import lazy_exports

if TYPE_CHECKING:
    from casper.memory import Buffer
    from casper.methods import CCIC, ER, ERACE, SCR, XDER, DERpp, Finetune, ICaRL, Joint, Method, PODNet, PsERACE
    from casper.nets import MLP, ConvNet
    from casper.regularizers import CSCCT, CaSpeR, ForwardOnly, Regularizer
    from casper.spectral import spectral_gap_loss
    from casper.streams import TaskStream, class_split, rotated_digits, split_digits
    from casper.training import Trainer

__getattr__, __dir__ = lazy_exports(__name__)

__version__ = "0.1.0"

__all__ = [
    "CCIC",
    "CSCCT",
    "ER",
    "ERACE",
    "MLP",
    "SCR",
    "XDER",
    "Buffer",
    "CaSpeR",
    "ConvNet",
    "DERpp",
    "Finetune",
    "ForwardOnly",
    "ICaRL",
    "Joint",
    "Method",
    "PODNet",
    "PsERACE",
    "Regularizer",
    "TaskStream",
    "Trainer",
    "class_split",
    "rotated_digits",
    "spectral_gap_loss",
    "split_digits",
]
