"""SCR: supervised contrastive replay."""

import math
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from casper.errors import require
from casper.losses import supervised_contrastive
from casper.memory import balanced_reservoir
from casper.methods._nearest_mean import NearestMeanMethod
from casper.nets import ProjectionHead
from casper.step import Progress, Step
from casper.streams import Transform, strong_view
from casper.types import Batch, Outputs, Scenario, Task


class SCR(NearestMeanMethod):
    """Train on new and replayed items with the supervised contrastive loss; predict by the nearest class mean.

    Each stream batch is joined with a batch from the memory. All items are passed twice, without augmentation and with
    strong augmentation (`strong_view`), and the loss is `supervised_contrastive` on the projections of both views. The
    first step has nothing to replay and only fills the memory, a class-balanced reservoir. Inputs are on the scale
    [0, 1], not normalised. Features and class means are scaled to length 1; the projection head is used only in
    training. Mai et al., "Supervised Contrastive Replay: Revisiting the Nearest Class Mean Classifier in Online
    Class-Incremental Continual Learning" (CVPR Workshops 2021).

    Example:
        >>> from casper import MLP, SCR, Trainer, split_digits
        >>> trainer = Trainer(split_digits(), SCR(), backbone=MLP, buffer_size=50)
        >>> trainer.run()["class_il"]["final_average_accuracy"] > 50
        True
    """

    needs_images: ClassVar[bool] = True
    scenarios: ClassVar[frozenset[Scenario]] = frozenset({"class"})

    def __init__(self, *, temperature: float = 0.07) -> None:
        """Set the hyper-parameter.

        Args:
            temperature: See `supervised_contrastive`. Default 0.07: that of SCR's released code; the paper names none.
        """
        super().__init__(unit_features=True, unit_means=True)
        require(0 < temperature < math.inf, "temperature", "a positive finite number", temperature)
        self.temperature = temperature

    def make_head(self, dim: int, num_classes: int) -> nn.Module:
        """Create the projection head, which does not depend on the number of classes."""
        return ProjectionHead(dim)

    def make_transform(self, transform: Transform) -> Transform:
        """Return a transform to the scale [0, 1] without augmentation: the first of the two views."""
        return Transform(mean=(0.0,), std=(1.0,))

    def draw(self, batch: Batch, task: Task, progress: Progress) -> Step:
        """Draw a replay batch from the memory."""
        return self.make_step(batch, task, progress, (self.replay_batch(),) if len(self.memory) else ())

    def forward(self, step: Step) -> Mapping[str, Outputs]:
        """Pass stream and replay in one batch, first without and then with strong augmentation."""
        if not step.replays:
            return {}
        inputs = torch.cat([batch.inputs for batch in (step.stream, *step.replays)])
        augmented = strong_view(inputs, self.generators["augment"])
        return {"joined": self.net(inputs), "augmented": self.net(augmented)}

    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the contrastive loss over both views of all items; {} if there is no replay."""
        if not step.replays:
            return {}
        labels = torch.cat([batch.labels for batch in (step.stream, *step.replays)])
        projections = torch.stack([passes["joined"].logits, passes["augmented"].logits], dim=1)
        return {"contrast": supervised_contrastive(projections, labels, self.temperature)}

    def remember(self, step: Step, passes: Mapping[str, Outputs]) -> None:
        """Offer the stream images to the class-balanced reservoir."""
        super().remember(step, passes)
        self.memory.insert(
            step.stream.images, step.stream.labels, policy=balanced_reservoir, generator=self.generators["memory"]
        )
