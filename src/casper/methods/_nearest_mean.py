"""The common base of methods that predict by the nearest class mean."""

from collections.abc import Mapping
from typing import Any, Self

import torch.nn.functional as F
from torch import Tensor

from casper.methods.base import Method, require_a_row_per_class
from casper.nets import FeatureClassifier, class_means, features_of, nearest_mean_scores
from casper.step import Step
from casper.streams import TaskStream
from casper.types import Outputs, Task


class NearestMeanMethod(Method):
    """Predict the class whose items in the memory have the nearest mean feature; the head is not used.

    score_c(x) = -||m_c - f(x)||², where f are the backbone's features in evaluation mode and without augmentation, and
    m_c is their mean over the memory's rows of class c. The means are cached until the network or the memory changes.
    """

    def __init__(self, *, unit_features: bool, unit_means: bool) -> None:
        """Set the options in which the methods differ.

        Args:
            unit_features: Whether the features of items in the memory are scaled to length 1 before averaging.
            unit_means: Whether class means and the features compared with them are scaled to length 1.
        """
        self.unit_features, self.unit_means = unit_features, unit_means

    def reset(self) -> None:
        """Discard the class means."""
        self._means: Tensor | None = None

    def check(self, stream: TaskStream, buffer_size: int) -> None:
        """Raise `ParameterError` if the memory cannot hold an item of every class."""
        require_a_row_per_class(stream, buffer_size)

    def end_task(self, task: Task) -> None:
        """Compute the class means for the evaluation."""
        self._means = self._class_means()

    def remember(self, step: Step, passes: Mapping[str, Outputs]) -> None:
        """Discard the class means, because the network has changed."""
        self._means = None

    def predict(self, images: Tensor) -> Tensor:
        """Score classes by the distance to their mean; -inf for classes without items in the memory."""
        if self._means is None:
            self._means = self._class_means()
        features = features_of(self.net, images, self.transform.test)
        return nearest_mean_scores(F.normalize(features) if self.unit_means else features, self._means)

    def averaged(self) -> tuple[Tensor, Tensor]:
        """Return the images to average and their labels: the whole memory."""
        return self.memory.images, self.memory.labels

    def _class_means(self) -> Tensor:
        images, labels = self.averaged()
        means = class_means(self._features(images), labels, self.num_classes)
        return F.normalize(means) if self.unit_means else means

    def _features(self, images: Tensor) -> Tensor:
        features = features_of(self.net, images, self.transform.test, self.compute)
        return F.normalize(features) if self.unit_features else features

    def with_net(self, net: FeatureClassifier) -> Self:
        """Copy the method for evaluation with another network; its class means are recomputed."""
        twin = super().with_net(net)
        twin._means = None
        return twin

    def state_dict(self) -> dict[str, Any]:
        """Return the class means."""
        return {"means": self._means}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        self._means = None if state["means"] is None else state["means"].to(self.memory.labels.device)
