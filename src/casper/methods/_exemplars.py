"""The common base of iCaRL and PODNet: herded exemplars and a frozen teacher."""

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
    """Train on new images and exemplars of old classes with the old network as teacher; predict by class means.

    After a task, every class seen so far has q = M // (number of classes) exemplars, or all its images if it has fewer.
    Old classes retain their first q exemplars; those of new classes are selected by herding from all their images, in
    evaluation mode and without augmentation. A copy of the network becomes the teacher of the next task. The predicted
    class is the one whose exemplars have the nearest mean feature.
    """

    scenarios: ClassVar[frozenset[Scenario]] = frozenset({"class"})

    def __init__(self, *, unit_means: bool, unit_herding: bool, released: bool) -> None:
        """Set the options in which the methods differ.

        Args:
            unit_means: Whether class means and the features compared with them are scaled to length 1.
            unit_herding: Whether features are scaled to length 1 before herding and averaging.
            released: Whether to reproduce two errors of the released code: exemplars are transposed in training, and
                unfilled rows of the memory, all zero, count as exemplars of class 0 in its mean.
        """
        super().__init__(unit_features=unit_herding, unit_means=unit_means)
        self.released = released

    def reset(self) -> None:
        """Discard the teacher and the class means."""
        super().reset()
        self.teacher: FeatureClassifier | None = None

    def check(self, stream: TaskStream, buffer_size: int) -> None:
        """Raise `ParameterError` if the memory is too small, or if images that are not square would be transposed."""
        super().check(stream, buffer_size)
        if self.released:
            require(stream.views is None, "released", "false for a stream of feature vectors", True)
            _, height, width = stream.image_shape
            square = f"false for images of {height} x {width}, which are not square"
            require(height == width, "released", square, True)

    def training_set(self, task: Task) -> ImageSet:
        """Return the images of the task and all exemplars."""
        if len(self.memory) == 0:
            return task.train
        exemplars = self.memory.images
        if self.released:
            exemplars = exemplars.transpose(2, 3)
        return ImageSet(torch.cat([task.train.images, exemplars]), torch.cat([task.train.labels, self.memory.labels]))

    def forward(self, step: Step) -> Mapping[str, Outputs]:
        """Pass the batch through the network and, from the second task on, through the teacher."""
        passes = {"stream": self.net(step.stream.inputs)}
        if self.teacher is not None:
            with torch.no_grad():
                passes["teacher"] = self.teacher(step.stream.inputs)
        return passes

    def end_task(self, task: Task) -> None:
        """Reduce the old exemplars, herd those of the new classes, copy the teacher, and compute the class means."""
        features = self._features(task.train.images)
        if not features.isfinite().all():
            where = f"at the end of task {task.index + 1}"
            raise NonFiniteLossError(f"features are not finite {where}: exemplars cannot be selected")
        quota = self.memory.capacity // task.num_seen
        self.memory.keep(self.memory.index.first_slots(quota))
        for label in task.classes:
            rows = (task.train.labels == label).nonzero().squeeze(1)
            chosen = task.train[rows[herd(features[rows], quota)]]
            self.memory.append(chosen.images, chosen.labels)
        self.teacher = snapshot(self.net)
        super().end_task(task)

    def averaged(self) -> tuple[Tensor, Tensor]:
        """Return the exemplars and, with `released`, the unfilled rows."""
        images, labels = super().averaged()
        if self.released and self.memory.index.count(0):
            blank = self.memory.capacity - len(labels)
            images = torch.cat([images, images.new_zeros(blank, *images.shape[1:])])
            labels = torch.cat([labels, labels.new_zeros(blank)])
        return images, labels

    def state_dict(self) -> dict[str, Any]:
        """Return the weights of the teacher and the class means."""
        return {"teacher": None if self.teacher is None else self.teacher.state_dict(), **super().state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        super().load_state_dict(state)
        self.teacher = None
        if state["teacher"] is not None:
            self.teacher = snapshot(self.net)
            self.teacher.load_state_dict(state["teacher"])
