"""X-DER: DER++ with stored logits that are updated for later tasks."""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from casper.errors import require, require_weights
from casper.losses import future_violation, mean_violation, outgrown, past_violation, restricted, transplant
from casper.memory import Column, even_quotas, first_of_each
from casper.methods.base import Method, require_a_row_per_class
from casper.nets import PolytopeHead, untouched_statistics
from casper.step import Progress, Step
from casper.streams import TaskStream
from casper.types import Batch, Outputs, Scenario, Task


class XDER(Method):
    """Assign separate columns to every task, and update the stored logits for tasks learned later.

    In task t, with C classes per task:

    - the stream's cross-entropy is over the present columns only;
    - two draws from the memory: alpha * mean((logits - stored)²) over all columns, beta * CE over the past columns;
    - eta * (past violation + future violation): in probabilities, the best past class of a new image must be a margin
      below its best present class; in logits, the best future class of any image a margin below the best class of the
      image's task;
    - the stored logits of a replayed item are replaced, in the present and future columns, by current ones
      (`transplant`) with probability 1/n at its n-th replay of the task.

    The memory contains only past tasks. At the end of a task, old classes retain their first M // ((t + 1) C) rows, new
    classes get the rest, and the logits of old rows are transplanted once more. The head is a regular polytope (RPC).

    Boschini et al., "Class-Incremental Continual Learning into the eXtended DER-verse" (TPAMI 2022), as released with
    the paper. That code also stores the task of an item's last update, which is never read.

    Example:
        >>> from casper import MLP, XDER, Trainer, split_digits
        >>> trainer = Trainer(split_digits(), XDER(), backbone=MLP, buffer_size=50, epochs=5)
        >>> trainer.run()["class_il"]["final_average_accuracy"] > 30
        True
    """

    scenarios: ClassVar[frozenset[Scenario]] = frozenset({"class"})
    memory_columns: ClassVar[Mapping[str, Column]] = {
        "logits": Column(torch.float32, per_class=True),
        "replays": Column(torch.int64),  # since the start of the task
    }

    def __init__(
        self,
        *,
        alpha: float = 0.5,
        beta: float = 0.1,
        gamma: float = 0.85,
        eta: float = 0.001,
        margin: float = 0.3,
    ) -> None:
        """Set the hyper-parameters; the defaults are the paper's for Split CIFAR-100.

        Args:
            alpha: The weight of the term of stored logits.
            beta: The weight of the term of stored labels.
            gamma: The ratio of the largest transplanted logit to that of the true class, if scaled.
            eta: The weight of the constraints.
            margin: The margin of the constraints, the paper's m.
        """
        require_weights(alpha=alpha, beta=beta, gamma=gamma, eta=eta)
        require(math.isfinite(margin), "margin", "a finite number", margin)
        self.alpha, self.beta, self.gamma, self.eta, self.margin = alpha, beta, gamma, eta, margin

    def reset(self) -> None:
        """Reset the transplant counters."""
        self.transplants = torch.zeros(2, dtype=torch.int64)

    def check(self, stream: TaskStream, buffer_size: int) -> None:
        """Raise `ParameterError` if the memory cannot hold an item of every class, or if there is only one class."""
        require_a_row_per_class(stream, buffer_size)
        require(stream.num_classes >= 2, "stream", "a stream of at least 2 classes for XDER", stream.num_classes)

    def make_head(self, dim: int, num_classes: int) -> nn.Module:
        """Create the regular polytope."""
        return PolytopeHead(dim, num_classes)

    def start_task(self, task: Task) -> None:
        """Reset the transplant counters."""
        self.reset()

    def draw(self, batch: Batch, task: Task, progress: Progress) -> Step:
        """Draw two independent replay batches, from the second task on."""
        replays = (self.replay_batch(), self.replay_batch()) if len(self.memory) else ()
        return self.make_step(batch, task, progress, replays)

    def losses(self, step: Step, passes: Mapping[str, Outputs]) -> dict[str, Tensor]:
        """Compute the term of the stream, the two terms of the memory, and the two constraints."""
        logits = passes["stream"].logits
        owners = step.task.owners(self.num_classes, logits.device)
        past, present, future = owners < step.task.index, owners == step.task.index, owners > step.task.index
        terms = {"stream": F.cross_entropy(restricted(logits, present), step.stream.labels)}
        if step.replays:
            first, second = step.replays
            terms["logits"] = self.alpha * F.mse_loss(passes["replay 1"].logits, first.columns["logits"])
            second_logits = restricted(passes["replay 2"].logits, past)
            terms["labels"] = self.beta * F.cross_entropy(second_logits, second.labels)
            terms["past"] = self.eta * mean_violation(past_violation(logits, past, present, self.margin))
        if step.task.index < step.task.num_tasks - 1:
            violations = [future_violation(logits, future, present, self.margin)]
            for replay, outputs, first_time in _replayed(step, passes):
                of_task = owners[replay.labels][:, None] == owners
                violation = future_violation(outputs.logits, future, of_task, self.margin)
                violations.append(torch.where(first_time, violation, -1.0))  # negative values are ignored
            terms["future"] = self.eta * mean_violation(torch.cat(violations))
        return terms

    @torch.no_grad()
    def remember(self, step: Step, passes: Mapping[str, Outputs]) -> None:
        """Update the stored logits of replayed items, each with probability 1 / its number of replays."""
        owners = step.task.owners(self.num_classes, step.stream.labels.device)
        for replay, outputs, first_time in _replayed(step, passes):
            assert replay.rows is not None
            columns = self.memory.columns
            replays, stored = columns["replays"][replay.rows] + first_time, columns["logits"][replay.rows]
            draws = torch.rand(len(replays), generator=self.generators["memory"]).to(replays.device)
            chosen = first_time & (draws < 1 / replays)
            updated = self._transplanted(stored, outputs.logits, replay.labels, owners >= step.task.index, chosen)
            self.memory.update("replays", replay.rows, replays)
            self.memory.update("logits", replay.rows, torch.where(chosen[:, None], updated, stored))

    @torch.no_grad()
    def end_task(self, task: Task) -> None:
        """Remove rows of old classes, insert the task's classes, and update the logits of the remaining old rows."""
        owners = task.owners(self.num_classes, self.memory.labels.device)
        self.memory.keep(self.memory.index.first_slots(self.memory.capacity // task.num_seen))
        with untouched_statistics(self.net):  # batch statistics, as in training
            self._fill(task, owners)
            if task.past:
                self._refresh(task, owners)
        self.memory.update("replays", slice(None), torch.tensor(0))

    def _fill(self, task: Task, owners: Tensor) -> None:
        """Divide the free rows among the task's classes, and fill them with images in random order."""
        data, generator = task.train, self.generators["memory"]
        free = self.memory.capacity - len(self.memory)
        quotas = even_quotas(free, task.classes, self.num_classes, generator).to(data.labels.device)
        order = torch.randperm(len(data), generator=generator).to(data.labels.device)
        taken = first_of_each(data.labels[order], quotas)
        for rows, chosen in zip(order.split(self.batch_size), taken.split(self.batch_size), strict=True):
            if chosen.any():
                part = data[rows]
                logits = self.compute(partial(self._logits, part.images))
                if task.past:
                    logits = self._transplanted(logits, logits, part.labels, owners < task.index, chosen)
                columns = {"logits": logits[chosen], "replays": torch.zeros_like(part.labels[chosen])}
                self.memory.append(part.images[chosen], part.labels[chosen], columns)

    def _refresh(self, task: Task, owners: Tensor) -> None:
        """Transplant the present and future columns of all rows of past tasks.

        All rows are passed in random order: in the order of the memory, batches would contain few classes each, and
        their statistics would be biased.
        """
        order = torch.randperm(len(self.memory), generator=self.generators["memory"]).to(owners.device)
        for rows in order.split(self.batch_size):
            labels, stored = self.memory.labels[rows], self.memory.columns["logits"][rows]
            current = self.compute(partial(self._logits, self.memory.images.index_select(0, rows)))
            of_past = owners[labels] < task.index
            updated = self._transplanted(stored, current, labels, owners >= task.index, of_past)
            self.memory.update("logits", rows, torch.where(of_past[:, None], updated, stored))

    def _logits(self, images: Tensor) -> Tensor:
        return self.net(self.view(images, self.generators["augment"])).logits

    def _transplanted(self, stored: Tensor, current: Tensor, labels: Tensor, columns: Tensor, rows: Tensor) -> Tensor:
        """Transplant logits, and count the marked rows."""
        by_non_positive = outgrown(stored, current, labels, columns) & rows
        self.transplants = self.transplants.to(rows.device) + torch.stack([rows.sum(), by_non_positive.sum()])
        return transplant(stored, current, labels, columns, self.gamma)

    def diagnostics(self) -> dict[str, float]:
        """Return the number of transplants in the task, and of those scaled by a true logit that is not positive."""
        transplants, by_non_positive = self.transplants.tolist()
        return {"transplants": transplants, "transplants_scaled_by_a_non_positive_logit": by_non_positive}

    def state_dict(self) -> dict[str, Any]:
        """Return the counters of the task."""
        return {"transplants": self.transplants}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        self.transplants = state["transplants"]


def _replayed(step: Step, passes: Mapping[str, Outputs]) -> Iterator[tuple[Batch, Outputs, Tensor]]:
    """Yield both draws with their passes and a mask of the items that are not in an earlier draw."""
    if step.replays:
        first, second = step.replays
        assert first.rows is not None
        assert second.rows is not None
        yield first, passes["replay 1"], torch.ones_like(first.rows, dtype=torch.bool)
        yield second, passes["replay 2"], ~torch.isin(second.rows, first.rows)
