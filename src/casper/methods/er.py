"""ER: plain experience replay."""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from casper.memory import reservoir
from casper.methods.base import Method
from casper.step import Progress, Step
from casper.types import Batch, Outputs, Task


class ER(Method):
    """Join each stream batch with a batch from the memory: one pass, one cross-entropy over both.

    Replay starts as soon as the memory is not empty. The memory is a plain reservoir. Chaudhry et al., "On Tiny
    Episodic Memories in Continual Learning" (2019).

    Example:
        >>> from casper import ER, MLP, Trainer, split_digits
        >>> trainer = Trainer(split_digits(), ER(), backbone=MLP, buffer_size=50, epochs=5)
        >>> metrics = trainer.run()
        >>> len(trainer.memory), metrics["class_il"]["final_average_accuracy"] > 30
        (50, True)
    """

    def draw(self, batch: Batch, task: Task, progress: Progress) -> Step:
        """Draw a replay batch from the memory."""
        return self.make_step(batch, task, progress, (self.replay_batch(),) if len(self.memory) else ())

    def forward(self, step: Step) -> Mapping[str, Outputs]:
        """Pass stream and replay in one batch, with common batch statistics."""
        return {"joined": self.net(torch.cat([batch.inputs for batch in (step.stream, *step.replays)]))}

    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the mean cross-entropy over all items, so that stream and replay are weighted by their size."""
        labels = torch.cat([batch.labels for batch in (step.stream, *step.replays)])
        return {"joined": F.cross_entropy(passes["joined"].logits, labels)}

    def remember(self, step: Step, passes: Mapping[str, Outputs]) -> None:
        """Offer the stream images to the reservoir."""
        self.memory.insert(
            step.stream.images, step.stream.labels, policy=reservoir, generator=self.generators["memory"]
        )
