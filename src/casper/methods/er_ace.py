"""ER-ACE: experience replay with asymmetric cross-entropy."""

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from casper.losses import asymmetric_cross_entropy
from casper.memory import balanced_reservoir
from casper.methods.base import Method
from casper.step import Progress, Step
from casper.types import Batch, Outputs, Task


class ERACE(Method):
    """Keep the stream's loss from pushing down old classes; learn those from the memory alone.

    The first task is plain cross-entropy. From the second on, the stream's softmax leaves out old classes
    (`asymmetric_cross_entropy`), and a replay batch, passed on its own, adds its cross-entropy over all classes. The
    memory is a class-balanced reservoir, with and without a regularizer. Caccia et al., "New Insights on Reducing
    Abrupt Representation Change in Online Continual Learning" (ICLR 2022), in the task-aware form of the paper.
    """

    def reset(self) -> None:
        """Forget the labels seen."""
        self.highest_seen = torch.tensor(-1)

    def draw(self, batch: Batch, task: Task, progress: Progress) -> Step:
        """Draw a replay batch, from the second task on."""
        replays = (self.replay_batch(),) if task.index > 0 and len(self.memory) else ()
        return self.make_step(batch, task, progress, replays)

    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the stream's masked and the replay's full cross-entropy."""
        labels = step.stream.labels
        self.highest_seen = torch.maximum(self.highest_seen.to(labels.device), labels.max())
        if step.task.index == 0:
            return {"stream": F.cross_entropy(passes["stream"].logits, labels)}
        terms = {"stream": asymmetric_cross_entropy(passes["stream"].logits, labels, self.highest_seen)}
        if step.replays:
            terms["replay"] = F.cross_entropy(passes["replay"].logits, step.replays[0].labels)
        return terms

    def remember(self, step: Step, passes: Mapping[str, Outputs]) -> None:
        """Offer the stream's images to the class-balanced reservoir."""
        self.memory.insert(
            step.stream.images, step.stream.labels, policy=balanced_reservoir, generator=self.generators["memory"]
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the highest label seen."""
        return {"highest_seen": self.highest_seen}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self.highest_seen = state["highest_seen"]
