"""PODNet: pooled outputs distillation."""

import math
import warnings
from collections.abc import Iterable, Mapping
from functools import partial
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import SGD, Optimizer

from casper.errors import require, require_weights
from casper.losses import pod_flat, pod_spatial, proxy_hinge
from casper.methods._exemplars import ExemplarMethod
from casper.nets import ProxyHead, features_of
from casper.step import Step
from casper.types import Outputs, Task

# The elements of the gradient are clamped to this magnitude, as in the released code.
_LARGEST_GRADIENT = 5.0


class PODNet(ExemplarMethod):
    """Preserve the old network's pooled activations while learning new classes with several proxies each.

    loss = proxy_hinge(stream) + sqrt(t + 1) * (spatial_weight * pod_spatial + flat_weight * pod_flat). The latter two
    apply from the second task on: pod_spatial to all stage maps except the last, pod_flat to the last, all before their
    ReLU. The proxies of a new class are initialised to the k-means centres of its features under the old network.
    Epochs run over a mixture of new images and herded exemplars. The prediction is the nearest class mean, with means
    and features scaled to length 1. Douillard et al., "PODNet: Pooled Outputs Distillation for Small-Tasks Incremental
    Learning" (ECCV 2020), in the form of the paper's experiments: no fine-tuning on a balanced set.

    Example:
        >>> from casper import PODNet, Trainer, split_digits
        >>> trainer = Trainer(split_digits(), PODNet(), buffer_size=50)
        >>> trainer.run()["class_il"]["final_average_accuracy"] > 40
        True
    """

    needs_maps: ClassVar[bool] = True
    drops_features: ClassVar[bool] = False
    new_optimizer_each_task: ClassVar[bool] = True

    def __init__(
        self,
        *,
        weight_decay: float = 5e-5,
        spatial_weight: float = 0.05,
        flat_weight: float = 0.01,
        margin: float = 0.6,
        eta: float = 1.0,
        num_proxies: int = 10,
        scale: float = 3.0,
        margin_on_target_only: bool = False,
        released: bool = False,
    ) -> None:
        """Set the hyper-parameters; the defaults are the paper's for Split CIFAR-100.

        Args:
            weight_decay: The optimizer's weight decay.
            spatial_weight: The weight of the spatial term, the paper's lambda_c.
            flat_weight: The weight of the flat term, the paper's lambda_f.
            margin: The paper's delta; it has no effect unless margin_on_target_only is True.
            eta: The sharpness of the classification loss.
            num_proxies: The number of proxies per class.
            scale: The radius of the sphere on which features and proxies are compared.
            margin_on_target_only: Whether the margin is subtracted only from the score of the true class, as in the
                PODNet paper. The released code subtracts it from every score, so that it cancels.
            released: Whether to reproduce errors of the released code, to compare with published values: exemplars are
                transposed in training, unfilled rows of the memory count as exemplars of class 0, and the learning rate
                is not reduced at the milestones.
        """
        super().__init__(unit_means=True, unit_herding=False, released=released)
        require_weights(weight_decay=weight_decay, spatial_weight=spatial_weight, flat_weight=flat_weight)
        require(math.isfinite(margin), "margin", "a finite number", margin)
        require(num_proxies >= 1, "num_proxies", "at least 1", num_proxies)
        for name, value in {"eta": eta, "scale": scale}.items():
            require(0 < value < math.inf, name, "a positive finite number", value)
        self.weight_decay, self.spatial_weight, self.flat_weight = weight_decay, spatial_weight, flat_weight
        self.margin = margin if margin_on_target_only else 0.0
        self.eta, self.num_proxies, self.scale = eta, num_proxies, scale
        self.follows_schedule = not released

    def make_head(self, dim: int, num_classes: int) -> nn.Module:
        """Create the head with several proxies per class."""
        return ProxyHead(dim, num_classes, num_proxies=self.num_proxies, scale=self.scale)

    def make_optimizer(self, parameters: Iterable[nn.Parameter], lr: float) -> Optimizer:
        """Create plain SGD with weight decay."""
        return SGD(parameters, lr=lr, weight_decay=self.weight_decay)

    def start_task(self, task: Task) -> None:
        """Initialise the proxies of the new classes, from the second task on."""
        if self.teacher is None:
            return
        head = self.net.head
        assert isinstance(head, ProxyHead)
        # One pass over the data in random order, as in the released code; k-means uses the same order.
        order = torch.randperm(len(task.train), generator=self.generators["memory"])
        data = task.train[order.to(task.train.labels.device)]
        view = partial(self.view, generator=self.generators["augment"])
        features = features_of(self.teacher, data.images, view, self.compute)
        for label in task.classes:
            seed = int(torch.randint(2**31 - 1, (), generator=self.generators["memory"]))
            head.imprint(label, kmeans_centres(features[data.labels == label], self.num_proxies, seed))

    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the classification loss and, if there is a teacher, the two distillation terms."""
        stream = passes["stream"]
        seen = step.task.owners(self.num_classes, stream.logits.device) <= step.task.index
        terms = {"stream": proxy_hinge(stream.logits, step.stream.labels, seen, eta=self.eta, margin=self.margin)}
        if "teacher" in passes:
            teacher, growth = passes["teacher"], math.sqrt(step.task.index + 1)
            terms["spatial"] = self.spatial_weight * growth * pod_spatial(stream.maps[:-1], teacher.maps[:-1])
            terms["flat"] = self.flat_weight * growth * pod_flat(stream.maps[-1], teacher.maps[-1])
        return terms

    def clip(self, parameters: Iterable[nn.Parameter]) -> None:
        """Clamp every element of the gradient."""
        nn.utils.clip_grad_value_(parameters, _LARGEST_GRADIENT)


def kmeans_centres(features: Tensor, num_centres: int, seed: int) -> Tensor:
    """Compute k-means centres of L2-normalised features; the centres are not normalised again.

    Uses scikit-learn's k-means++ with 10 starts and at most 300 iterations, on one thread for a fixed order of sums.

    Args:
        features: Tensor of shape (n, d).
        num_centres: The number of centres; reduced to n if larger.
        seed: Determines the starts.

    Returns:
        Tensor of shape (min(num_centres, n), d), with the dtype and device of the features.

    Example:
        >>> import torch
        >>> from casper.methods import kmeans_centres
        >>> features = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
        >>> kmeans_centres(features, num_centres=2, seed=0).sort(dim=0).values
        tensor([[0., 0.],
                [1., 1.]])
    """
    from sklearn.cluster import KMeans  # a slow import that only this function needs
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    points = F.normalize(features).double().cpu().numpy()
    kmeans = KMeans(min(num_centres, len(points)), init="k-means++", n_init=10, max_iter=300, random_state=seed)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # raised if points are equal
        centres = kmeans.fit(points).cluster_centers_
    return torch.from_numpy(centres).to(features)
