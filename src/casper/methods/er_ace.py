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
    """Keep the stream's loss from pushing down old classes; learn those from the memory alone.

    The first task is plain cross-entropy. From the second on, the stream's softmax leaves out old classes
    (`asymmetric_cross_entropy`), and a replay batch, passed on its own, adds its cross-entropy over all classes. The
    memory is a class-balanced reservoir, with and without a regularizer. Items whose label is hidden are dropped; where
    all are, so is the step. Caccia et al., "New Insights on Reducing Abrupt Representation Change in Online Continual
    Learning" (ICLR 2022), in the task-aware form of the paper.
    """

    takes_unlabelled: ClassVar[bool] = True

    def reset(self) -> None:
        """Forget the labels seen."""
        self.highest_seen = torch.tensor(-1)

    def draw(self, batch: Batch, task: Task, progress: Progress) -> Step:
        """Draw a replay batch, from the second task on, if there is anything to learn."""
        learned = self.learned_part(batch, task) if self.hides_labels else batch
        replays = (self.replay_batch(),) if task.index > 0 and len(self.memory) and len(learned) else ()
        return self.make_step(batch, task, progress, replays, learned=learned)

    def learned_part(self, batch: Batch, task: Task) -> Batch:
        """Choose the items to learn from, of a batch with hidden labels: those with a label."""
        return batch[batch.labels >= 0]

    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the stream's masked and the replay's full cross-entropy."""
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
        """Offer the stream's images, those that were learned, to the class-balanced reservoir."""
        self.memory.insert(
            step.known.images, step.known.labels, policy=balanced_reservoir, generator=self.generators["memory"]
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the highest label seen."""
        return {"highest_seen": self.highest_seen}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self.highest_seen = state["highest_seen"]
