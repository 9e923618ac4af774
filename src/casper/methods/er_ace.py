"""ER-ACE: experience replay with asymmetric cross-entropy."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from casper._deprecated import renamed_attributes
from casper.losses import asymmetric_cross_entropy
from casper.memory import balanced_reservoir
from casper.methods.base import Method
from casper.step import Progress, Step
from casper.types import Batch, Outputs, Task


@renamed_attributes({"learnt_part": "learned_part"})
class ERACE(Method):
    """Prevent the stream's loss from lowering the logits of old classes; learn old classes only from the memory.

    The first task uses plain cross-entropy. From the second on, the stream's softmax excludes old classes
    (`asymmetric_cross_entropy`), and a replay batch, in a separate pass, adds its cross-entropy over all classes. The
    memory is a class-balanced reservoir, with and without a regularizer. Items with a hidden label are dropped; a step
    in which all labels are hidden is skipped. Caccia et al., "New Insights on Reducing Abrupt Representation Change in
    Online Continual Learning" (ICLR 2022), in the task-aware form of the paper.

    Example:
        >>> from casper import ERACE, MLP, Trainer, split_digits
        >>> trainer = Trainer(split_digits(), ERACE(), backbone=MLP, buffer_size=50, epochs=5)
        >>> trainer.run()["class_il"]["final_average_accuracy"] > 50
        True
    """

    takes_unlabelled: ClassVar[bool] = True

    def reset(self) -> None:
        """Reset the highest label seen."""
        self.highest_seen = torch.tensor(-1)

    def draw(self, batch: Batch, task: Task, progress: Progress) -> Step:
        """Draw a replay batch, from the second task on, if there is anything to learn from."""
        learned = self.learned_part(batch, task) if self.hides_labels else batch
        replays = (self.replay_batch(),) if task.index > 0 and len(self.memory) and len(learned) else ()
        return self.make_step(batch, task, progress, replays, learned=learned)

    def learned_part(self, batch: Batch, task: Task) -> Batch:
        """Select the items to learn from in a batch with hidden labels: those with a label."""
        return batch[batch.labels >= 0]

    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the masked cross-entropy of the stream and the full cross-entropy of the replay."""
        if not passes:
            return {}
        labels = step.known.labels
        self.highest_seen = torch.maximum(self.highest_seen.to(labels.device), labels.max())
        if step.task.index == 0:
            return {"stream": F.cross_entropy(passes["stream"].logits, labels)}
        terms = {"stream": asymmetric_cross_entropy(passes["stream"].logits, labels, self.highest_seen)}
        if step.replays:
            terms["replay"] = F.cross_entropy(passes["replay"].logits, step.replays[0].labels)
        return terms

    def remember(self, step: Step, passes: Mapping[str, Outputs]) -> None:
        """Offer the stream images that were learned from to the class-balanced reservoir."""
        self.memory.insert(
            step.known.images, step.known.labels, policy=balanced_reservoir, generator=self.generators["memory"]
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the highest label seen."""
        return {"highest_seen": self.highest_seen}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        self.highest_seen = state["highest_seen"]
