"""CCIC: contrastive continual interpolation consistency, for streams with few labels."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from casper.errors import require, require_weights
from casper.losses import Mixing, draw_mixing, hard_triplet_loss, negatives_loss, sharpened_mean
from casper.memory import Ring, reservoir, uniform_rows
from casper.methods.base import Method
from casper.nets import FeatureClassifier, evaluating, features_of, nearest_class_vote
from casper.step import Progress, Step
from casper.types import Batch, ImageSet, Outputs, Scenario, Task


@dataclass(frozen=True, kw_only=True, repr=False)
class CCICStep(Step):
    """The data of one update besides the stream batch. A step with nothing to learn from is a plain `Step` instead.

    Attributes:
        labelled: All items of the labelled ring, then the replayed ones.
        num_recent: The number of items from the ring.
        views: Tensor of shape (3 n, c, h, w): three views of each of the stream's n unlabelled items.
        mixing: Mixes the concatenation of the labelled items and the views.
        triplet_mixing: Mixes the labelled items; None: they are not mixed.
        domains: All items of the unlabelled ring (label 0), and items of other tasks (1); None if either is empty.
    """

    labelled: Batch
    num_recent: int
    views: Tensor
    mixing: Mixing
    triplet_mixing: Mixing | None
    domains: Batch | None


def joined(*batches: Batch) -> Batch:
    """Concatenate batches."""
    return Batch(
        torch.cat([batch.images for batch in batches]),
        torch.cat([batch.labels for batch in batches]),
        torch.cat([batch.inputs for batch in batches]),
    )


# Constants of the authors' code.
_VIEWS = 3  # views of an unlabelled image, for its target
_TEMPERATURE = 0.5  # for sharpening the target
_MIXUP, _TRIPLET_MIXUP = 0.75, 1.0  # the a of Beta(a, a)


class CCIC(Method):
    """Learn from mixtures of labelled, replayed and unlabelled items; separate the features of classes and tasks.

    Two ring buffers hold the last b labelled and, from the second task on, the last b unlabelled items of the stream,
    where b is the batch size; they persist across tasks. Every step augments all of them again. Let q be the mean of
    the network's predictions over three views of an unlabelled item of the batch, sharpened by `sharpened_mean`. Every
    item and its target are mixed with those of another item (`draw_mixing`, a = 0.75). The loss terms are:

    - labelled: CE of the labelled ring, mixed, if the batch contains any label;
    - replay: memory_penalty * CE of a batch from the memory, mixed;
    - unlabelled: unlabelled_weight * mean((softmax(logits) - q)²) over the mixed views and all classes;
    - triplet: `hard_triplet_loss` of labelled ring and replay, with k = b // 10. From the second task on and in the
      first 90 % of its epochs, their images, but not their labels, are first mixed with each other (a = 1);
    - domains: in the same steps, alpha * `negatives_loss` between the unlabelled ring and items of other tasks.

    Steps before the first label have no effect. The memory is a reservoir of labelled items. Prediction is a vote of
    the nearest neighbours among them (`nearest_class_vote`), on features scaled to length 1. The optimizer is Adam.

    Boschini et al., "Continual Semi-Supervised Learning through Contrastive Interpolation Consistency" (Pattern
    Recognition Letters 2022). Where the authors' code deviates from MixMatch, on which it is based, this implementation
    follows MixMatch.

    Example:
        >>> from casper import CCIC, MLP, Trainer, hide_labels, split_digits
        >>> stream = hide_labels(split_digits(), per_class=10)
        >>> trainer = Trainer(stream, CCIC(), backbone=MLP, buffer_size=50, epochs=5, lr=0.001)
        >>> trainer.run()["class_il"]["final_average_accuracy"] > 30
        True
    """

    needs_images: ClassVar[bool] = True
    scenarios: ClassVar[frozenset[Scenario]] = frozenset({"class"})
    takes_unlabelled: ClassVar[bool] = True

    def __init__(
        self,
        *,
        alpha: float = 0.5,
        unlabelled_weight: float = 0.5,
        memory_penalty: float = 1.0,
        num_neighbors: int = 3,
        released: bool = False,
    ) -> None:
        """Set the hyper-parameters; the defaults are those of the authors' code.

        Args:
            alpha: The weight of the term between domains.
            unlabelled_weight: The weight of the unlabelled items' term, `lamda` in the authors' code.
            memory_penalty: The weight of the replayed items' cross-entropy.
            num_neighbors: The number k of voters.
            released: Whether to reproduce errors of the authors' code: predictions are raw logits, not probabilities,
                and an item's target is averaged over views of different items; the targets of both cross-entropies and
                of the unlabelled term are not mixed; the unlabelled term is also divided by the number of classes.
        """
        require_weights(alpha=alpha, unlabelled_weight=unlabelled_weight, memory_penalty=memory_penalty)
        require(num_neighbors >= 1, "num_neighbors", "at least 1", num_neighbors)
        self.alpha, self.unlabelled_weight, self.memory_penalty = alpha, unlabelled_weight, memory_penalty
        self.num_neighbors, self.released = num_neighbors, released

    def reset(self) -> None:
        """Empty the rings."""
        shape, device = self.memory.images.shape[1:], self.memory.labels.device
        self.labelled, self.unlabelled = (Ring(self.batch_size, shape, device=device) for _ in range(2))
        self._support: Tensor | None = None

    def make_optimizer(self, parameters: Iterable[nn.Parameter], lr: float) -> Optimizer:
        """Create Adam, as in the authors' code."""
        return Adam(parameters, lr=lr)

    def draw(self, batch: Batch, task: Task, progress: Progress) -> Step:
        """Insert the batch into the rings, then draw from the rings and the memory."""
        learned, hidden = batch[batch.labels >= 0], batch[batch.labels < 0]
        if len(learned) == 0 and len(self.memory) == 0:
            return self.make_step(batch, task, progress, learned=learned)
        self.labelled.insert(learned.images, learned.labels)
        if task.index > 0:
            self.unlabelled.insert(hidden.images, hidden.labels)
        contrasting = task.index > 0 and 10 * progress.epoch < 9 * progress.epochs
        replays = (self.replay_batch(),) if len(self.memory) else ()
        recent = self._augment(self.labelled.shuffled(self.generators["replay"]))
        labelled = joined(recent, *replays)
        views = self._views(hidden.images)
        return CCICStep(
            **vars(self.make_step(batch, task, progress, replays, learned=learned)),
            labelled=labelled,
            num_recent=len(recent),
            views=views,
            mixing=self._mixing(len(labelled) + len(views), _MIXUP),
            triplet_mixing=self._mixing(len(labelled), _TRIPLET_MIXUP) if contrasting else None,
            domains=self._domains(task) if contrasting else None,
        )

    def forward(self, step: Step) -> Mapping[str, Outputs]:
        """Run separate passes for the views (in evaluation mode), the mixed items, the triplets and the domains."""
        if not isinstance(step, CCICStep):
            return {}
        passes, inputs = {}, step.labelled.inputs
        mixed = step.mixing(torch.cat([inputs, step.views]))
        if len(step.views):
            with evaluating(self.net):
                passes["views"] = self.net(step.views)
        passes["mixed labelled"] = self.net(mixed[: len(inputs)])
        if len(step.views):
            passes["mixed views"] = self.net(mixed[len(inputs) :])
        passes["triplet"] = self.net(inputs if step.triplet_mixing is None else step.triplet_mixing(inputs))
        if step.domains is not None:
            passes["domains"] = self.net(step.domains.inputs)
        return passes

    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the loss terms for which the step has items."""
        if not isinstance(step, CCICStep):
            return {}
        targets, view_targets = self._targets(step, passes)
        logits, recent, terms = passes["mixed labelled"].logits, step.num_recent, {}
        if len(step.known):
            terms["labelled"] = F.cross_entropy(logits[:recent], targets[:recent])
        if step.replays:
            terms["replay"] = self.memory_penalty * F.cross_entropy(logits[recent:], targets[recent:])
        if len(step.views):
            answers = passes["mixed views"].logits
            distance = F.mse_loss(answers if self.released else answers.softmax(dim=1), view_targets)
            terms["unlabelled"] = self.unlabelled_weight * distance / (self.num_classes if self.released else 1)
        hardest = self.batch_size // 10
        terms["triplet"] = hard_triplet_loss(passes["triplet"].features, step.labelled.labels, hardest)
        if step.domains is not None:
            terms["domains"] = self.alpha * negatives_loss(passes["domains"].features, step.domains.labels, hardest)
        return terms

    def remember(self, step: Step, passes: Mapping[str, Outputs]) -> None:
        """Offer the labelled stream images to the reservoir, and discard the outdated features of the memory."""
        self._support = None
        if isinstance(step, CCICStep):
            self.memory.insert(
                step.known.images, step.known.labels, policy=reservoir, generator=self.generators["memory"]
            )

    def end_task(self, task: Task) -> None:
        """Compute the features of the memory for the evaluation."""
        self._support = self._features(self.memory.images)

    def predict(self, images: Tensor) -> Tensor:
        """Score classes by a vote of the items in the memory; -inf for classes without items."""
        if self._support is None:
            self._support = self._features(self.memory.images)
        voters = self._support, self.memory.labels
        return nearest_class_vote(self._features(images), *voters, self.num_classes, self.num_neighbors)

    def with_net(self, net: FeatureClassifier) -> Self:
        """Copy the method for evaluation with another network; the features of the memory are recomputed."""
        twin = super().with_net(net)
        twin._support = None
        return twin

    def state_dict(self) -> dict[str, Any]:
        """Return the rings and the features of the memory."""
        rings = {"labelled": self.labelled.state_dict(), "unlabelled": self.unlabelled.state_dict()}
        return {**rings, "support": self._support}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        self.labelled.load_state_dict(state["labelled"])
        self.unlabelled.load_state_dict(state["unlabelled"])
        self._support = None if state["support"] is None else state["support"].to(self.memory.labels.device)

    def _augment(self, items: ImageSet) -> Batch:
        """Augment items, of which there may be none."""
        inputs = self.view(items.images, self.generators["augment"]) if len(items) else items.images.float()
        return Batch(items.images, items.labels, inputs)

    def _views(self, images: Tensor) -> Tensor:
        """Augment the whole set of images three times; in the authors' code each image three times in a row."""
        copies = images.repeat_interleave(_VIEWS, 0) if self.released else images.repeat(_VIEWS, 1, 1, 1)
        return self._augment(ImageSet(copies, copies.new_zeros(len(copies)))).inputs

    def _mixing(self, size: int, concentration: float) -> Mixing:
        return draw_mixing(size, concentration, self.generators["augment"], self.memory.labels.device)

    def _domains(self, task: Task) -> Batch | None:
        """Collect the unlabelled ring and up to a batch of items of other tasks from the memory."""
        labels, generator = self.memory.labels, self.generators["replay"]
        others = (task.owners(self.num_classes, labels.device)[labels] != task.index).nonzero().squeeze(1)
        if len(others) == 0 or len(self.unlabelled) == 0:
            return None
        recent = self.unlabelled.shuffled(generator).images
        rows = others[uniform_rows(len(others), self.batch_size, generator).to(others.device)]
        images = torch.cat([recent, self.memory.images.index_select(0, rows)])
        return self._augment(ImageSet(images, (torch.arange(len(images), device=labels.device) >= len(recent)).long()))

    def _targets(self, step: CCICStep, passes: Mapping[str, Outputs]) -> tuple[Tensor, Tensor]:
        """Compute the targets of the mixed labelled items and of the mixed views, of shape (number of items, N)."""
        truth = F.one_hot(step.labelled.labels, self.num_classes).float()
        guesses = truth[:0]
        if len(step.views):
            answers = passes["views"].logits
            answers = answers if self.released else answers.softmax(dim=1)
            guesses = sharpened_mean(answers, _VIEWS, _TEMPERATURE).repeat(_VIEWS, 1)
        targets = torch.cat([truth, guesses])
        mixed = targets if self.released else step.mixing(targets)
        return mixed[: len(truth)], mixed[len(truth) :]

    def _features(self, images: Tensor) -> Tensor:
        return F.normalize(features_of(self.net, images, self.transform.test, self.compute))
