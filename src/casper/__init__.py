"""Continual learning on PyTorch with CaSpeR-IL, a spectral regularizer for rehearsal methods.

A network that learns tasks one after another forgets the earlier ones. Rehearsal methods replay a small memory of past
items. CaSpeR-IL adds a loss term on the replayed features: it shapes the spectrum of their nearest-neighbour graph so
that the graph splits into one community per class, and the replayed classes stay apart. There are three ways in:

- The loss, in your training loop: `spectral_gap_loss(features, num_communities, num_neighbors)`.
- Python: a stream of tasks, a method, any regularizers, and a `Trainer` that trains the method and measures it.
- The command line: `casper run`, `casper list`, `casper demo`.

The package exports every method, regularizer, backbone, trunk and stream that the command line knows by name, all
functions that create a stream, `Trainer`, `spectral_gap_loss`, the losses of `casper.losses`, the base classes for
custom parts and the types in the signatures of their methods. A name is imported on first use: `import casper` does not
import PyTorch, and `spectral_gap_loss` requires no package besides PyTorch.

Example:
    >>> from casper import ER, CaSpeR, Trainer, split_digits
    >>> casper = CaSpeR(weight=0.01, num_classes=4, num_neighbors=5)
    >>> trainer = Trainer(split_digits()[:2], ER(), regularizers=[casper], buffer_size=100)
    >>> metrics = trainer.run()
    >>> metrics["tasks"]
    [['0', '1'], ['2', '3']]
"""

from typing import TYPE_CHECKING

from casper._deprecated import find_old_names
from casper._lazy import has_source, lazy_exports

find_old_names()

if TYPE_CHECKING or not has_source(__name__):
    from casper.errors import ParameterError
    from casper.losses import (
        Mixing,
        asymmetric_cross_entropy,
        controlled_transfer,
        cross_space_clustering,
        distillation_loss,
        distillation_targets,
        draw_mixing,
        future_violation,
        hard_triplet_loss,
        kept_columns,
        mean_violation,
        negatives_loss,
        outgrown,
        past_violation,
        pod_flat,
        pod_spatial,
        proxy_hinge,
        pseudo_labels,
        restricted,
        sharpened_mean,
        supervised_contrastive,
        transplant,
    )
    from casper.memory import Buffer, Column
    from casper.methods import CCIC, ER, ERACE, SCR, XDER, DERpp, Finetune, ICaRL, Joint, Method, Phase, PODNet, PsERACE
    from casper.nets import (
        MLP,
        Adapter,
        Backbone,
        ConvNet,
        EfficientNetB2,
        EfficientNetLite0,
        FeatureClassifier,
        FileTrunk,
        Lite0Trunk,
        ResNet18,
        TimmBackbone,
        TimmTrunk,
        Trunk,
    )
    from casper.regularizers import CSCCT, CaSpeR, ForwardOnly, Regularizer
    from casper.spectral import spectral_gap_loss
    from casper.step import Progress, Step
    from casper.streams import (
        TaskStream,
        Transform,
        class_split,
        embed,
        hide_labels,
        hold_out,
        rotated_digits,
        rotated_mnist,
        rotated_stream,
        shortened,
        split_cifar10,
        split_cifar100,
        split_digits,
        split_fashion_mnist,
        split_folder,
        split_hub,
        split_images,
        split_mini_imagenet,
        split_mnist,
        split_npz,
    )
    from casper.training import Trainer
    from casper.types import Batch, ImageSet, Outputs, Task
else:
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
    "Adapter",
    "Backbone",
    "Batch",
    "Buffer",
    "CaSpeR",
    "Column",
    "ConvNet",
    "DERpp",
    "EfficientNetB2",
    "EfficientNetLite0",
    "FeatureClassifier",
    "FileTrunk",
    "Finetune",
    "ForwardOnly",
    "ICaRL",
    "ImageSet",
    "Joint",
    "Lite0Trunk",
    "Method",
    "Mixing",
    "Outputs",
    "PODNet",
    "ParameterError",
    "Phase",
    "Progress",
    "PsERACE",
    "Regularizer",
    "ResNet18",
    "Step",
    "Task",
    "TaskStream",
    "TimmBackbone",
    "TimmTrunk",
    "Trainer",
    "Transform",
    "Trunk",
    "asymmetric_cross_entropy",
    "class_split",
    "controlled_transfer",
    "cross_space_clustering",
    "distillation_loss",
    "distillation_targets",
    "draw_mixing",
    "embed",
    "future_violation",
    "hard_triplet_loss",
    "hide_labels",
    "hold_out",
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
    "rotated_digits",
    "rotated_mnist",
    "rotated_stream",
    "sharpened_mean",
    "shortened",
    "spectral_gap_loss",
    "split_cifar10",
    "split_cifar100",
    "split_digits",
    "split_fashion_mnist",
    "split_folder",
    "split_hub",
    "split_images",
    "split_mini_imagenet",
    "split_mnist",
    "split_npz",
    "supervised_contrastive",
    "transplant",
]
