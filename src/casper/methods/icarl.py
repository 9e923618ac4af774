"""iCaRL: incremental classifier and representation learning."""

from collections.abc import Iterable, Mapping

from torch import Tensor, nn
from torch.optim import SGD, Optimizer

from casper.errors import require_weights
from casper.losses import distillation_loss, distillation_targets
from casper.methods._exemplars import ExemplarMethod
from casper.step import Step
from casper.types import Outputs


class ICaRL(ExemplarMethod):
    """Train one binary classifier per class, old classes by distillation; predict by the nearest class mean.

    Epochs run over a mixture of new images and herded exemplars. The loss is the binary cross-entropy over the classes
    seen so far (`distillation_targets`), plus weight_decay * Σ θ² over all parameters, including those of BatchNorm and
    of the head. Rebuffi et al., "iCaRL: Incremental Classifier and Representation Learning" (CVPR 2017), in the form of
    the paper's experiments: features and class means are not normalised.

    Example:
        >>> from casper import MLP, ICaRL, Trainer, split_digits
        >>> trainer = Trainer(split_digits(), ICaRL(), backbone=MLP, buffer_size=50)
        >>> trainer.run()["class_il"]["final_average_accuracy"] > 50
        True
    """

    def __init__(self, *, weight_decay: float = 1e-5, l2: bool = False, released: bool = False) -> None:
        """Set the hyper-parameters.

        Args:
            weight_decay: The weight of Σ θ². Default 1e-5: the paper's.
            l2: Whether features are scaled to length 1 for herding, and features and means for prediction, as in the
                original iCaRL.
            released: Whether to reproduce errors of the released code, to compare with published values: exemplars are
                transposed in training, and unfilled rows of the memory count as exemplars of class 0.
        """
        super().__init__(unit_means=l2, unit_herding=l2, released=released)
        require_weights(weight_decay=weight_decay)
        self.weight_decay = weight_decay

    def make_optimizer(self, parameters: Iterable[nn.Parameter], lr: float) -> Optimizer:
        """Create plain SGD; it adds the gradient of weight_decay * Σ θ², which is 2 * weight_decay * θ."""
        return SGD(parameters, lr=lr, weight_decay=2 * self.weight_decay)

    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the binary cross-entropy of the mixed batch; the teacher is used for all items, new and old."""
        logits = passes["stream"].logits
        owners = step.task.owners(self.num_classes, logits.device)
        teacher_logits = passes["teacher"].logits if "teacher" in passes else None
        targets = distillation_targets(step.stream.labels, teacher_logits, owners < step.task.index, self.num_classes)
        return {"distillation": distillation_loss(logits, targets, owners <= step.task.index)}
