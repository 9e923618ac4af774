"""What iCaRL and PODNet have in common: herded exemplars, a frozen teacher."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from casper.errors import NonFiniteLossError, require
from casper.memory import herd
from casper.methods._nearest_mean import NearestMeanMethod
from casper.nets import FeatureClassifier, snapshot
from casper.step import Step
from casper.streams import TaskStream
from casper.types import ImageSet, Outputs, Scenario, Task


class ExemplarMethod(NearestMeanMethod):
    """Mix exemplars of old classes into each task's epochs, learn from the network as it was, predict by class means.

    After a task every class met so far has q = M // (number of classes) exemplars, or as many as it has images: old
    classes keep their first q, new ones are herded from all their images, in evaluation mode and without augmentation.
    The network as it is then becomes the teacher of the next task. Prediction goes to the class whose exemplars' mean
    feature is nearest.
    """

    scenarios: ClassVar[frozenset[Scenario]] = frozenset({"class"})

    def __init__(self, *, unit_means: bool, unit_herding: bool, released: bool) -> None:
        """Set what differs between the methods.

        Args:
            unit_means: Whether class means and the features compared with them are scaled to length 1.
            unit_herding: Whether features are scaled to length 1 before they are herded and averaged.
            released: The released code's slips: exemplars enter training with rows and columns exchanged, and unfilled
                rows of the memory, all zero, count as exemplars of class 0 in its mean.
        """
        super().__init__(unit_features=unit_herding, unit_means=unit_means)
        self.released = released

    def reset(self) -> None:
        """Forget teacher and class means."""
        super().reset()
        self.teacher: FeatureClassifier | None = None

    def check(self, stream: TaskStream, buffer_size: int) -> None:
        """Refuse a memory that cannot hold an exemplar of every class, and a slip that cannot be made."""
        super().check(stream, buffer_size)
        _, height, width = stream.image_shape
        square = height == width or not self.released
        require(square, "released", f"false for images of {height} x {width}: it exchanges rows and columns", True)

    def training_set(self, task: Task) -> ImageSet:
        """Put the exemplars beside the task's own images."""
        if len(self.memory) == 0:
            return task.train
        exemplars = self.memory.images
        if self.released:
            exemplars = exemplars.transpose(2, 3)
        return ImageSet(torch.cat([task.train.images, exemplars]), torch.cat([task.train.labels, self.memory.labels]))

    def forward(self, step: Step) -> Mapping[str, Outputs]:
        """Pass the batch through the network and, from the second task on, through its teacher."""
        passes = {"stream": self.net(step.stream.inputs)}
        if self.teacher is not None:
            with torch.no_grad():
                passes["teacher"] = self.teacher(step.stream.inputs)
        return passes

    def end_task(self, task: Task) -> None:
        """Make room in the memory, herd the new classes into it, keep the network as teacher, average the exemplars."""
        features = self._features(task.train.images)
        if not features.isfinite().all():
            raise NonFiniteLossError(f"features are not finite at the end of task {task.index + 1}: nothing to herd by")
        quota = self.memory.capacity // task.num_seen
        self.memory.keep(self.memory.index.first_slots(quota))
        for label in task.classes:
            rows = (task.train.labels == label).nonzero().squeeze(1)
            chosen = task.train[rows[herd(features[rows], quota)]]
            self.memory.append(chosen.images, chosen.labels)
        self.teacher = snapshot(self.net)
        super().end_task(task)

    def averaged(self) -> tuple[Tensor, Tensor]:
        """Choose the exemplars and, for the released code's slip, the unfilled rows."""
        images, labels = super().averaged()
        if self.released and self.memory.index.count(0):
            blank = self.memory.capacity - len(labels)
            images = torch.cat([images, images.new_zeros(blank, *images.shape[1:])])
            labels = torch.cat([labels, labels.new_zeros(blank)])
        return images, labels

    def state_dict(self) -> dict[str, Any]:
        """Return the teacher's weights and the class means."""
        return {"teacher": None if self.teacher is None else self.teacher.state_dict(), **super().state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        super().load_state_dict(state)
        self.teacher = None
        if state["teacher"] is not None:
            self.teacher = snapshot(self.net)
            self.teacher.load_state_dict(state["teacher"])
