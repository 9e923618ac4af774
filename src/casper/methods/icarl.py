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
    """Answer a yes-or-no question per class, the old ones as the old network did; predict by the nearest class mean.

    Epochs run over new images and herded exemplars mixed. The loss is the binary cross-entropy over the classes met so
    far (`distillation_targets`), plus weight_decay * Σ θ² over all parameters, BatchNorm's and the head's included.
    Rebuffi et al., "iCaRL: Incremental Classifier and Representation Learning" (CVPR 2017), in the form of the
    paper's experiments: features and class means are not normalised.
    """

    def __init__(self, *, weight_decay: float = 1e-5, l2: bool = False, released: bool = False) -> None:
        """Set the hyper-parameters.

        Args:
            weight_decay: The weight of Σ θ². Default 1e-5: the paper's.
            l2: Whether features are scaled to length 1 for herding, and features and means for prediction, as in the
                original iCaRL.
            released: The released code's slips, to compare with published figures: see `ExemplarMethod`.
        """
        super().__init__(unit_means=l2, unit_herding=l2, released=released)
        require_weights(weight_decay=weight_decay)
        self.weight_decay = weight_decay

    def make_optimizer(self, parameters: Iterable[nn.Parameter], lr: float) -> Optimizer:
        """Make plain SGD; it adds the gradient of weight_decay * Σ θ², which is 2 * weight_decay * θ."""
        return SGD(parameters, lr=lr, weight_decay=2 * self.weight_decay)

    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the binary cross-entropy of the mixed batch; all items, new and old, learn from the teacher."""
        logits = passes["stream"].logits
        owners = step.task.owners(self.num_classes, logits.device)
        teacher_logits = passes["teacher"].logits if "teacher" in passes else None
        targets = distillation_targets(step.stream.labels, teacher_logits, owners < step.task.index, self.num_classes)
        return {"distillation": distillation_loss(logits, targets, owners <= step.task.index)}
