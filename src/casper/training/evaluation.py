"""How well a method does: accuracy on test sets, with and without recalibration; the latent space at the end."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from casper._repr import ShowsSettings
from casper.analysis import latent_summary
from casper.methods import Method
from casper.metrics import Accuracies, Record, accuracy
from casper.nets import CHUNK, batch_norms, evaluating, features_of, recompute_statistics, set_statistics
from casper.randomness import named_generator
from casper.streams import TaskStream
from casper.training.resumable import ResumableWork
from casper.types import ImageSet, Scenario, Task

# From how many class-balanced draws BatchNorm's statistics are recomputed: their average has settled by then.
_RECALIBRATION_DRAWS = 20


def scenarios(kind: Scenario) -> tuple[str, ...]:
    """Name the ways a stream is evaluated: class streams without and with the task known, domain streams in one."""
    return ("class_il", "task_il") if kind == "class" else ("domain_il",)


def scores(method: Method, images: ImageSet) -> Tensor:
    """Score images with the network in evaluation mode; its mode is the same afterwards.

    Returns:
        Tensor of shape (n, N).
    """
    with evaluating(method.net):
        return torch.cat(
            [method.compute(lambda chunk=chunk: method.predict(chunk)) for chunk in images.images.split(CHUNK)]  # type: ignore[misc]
        )


def evaluate(method: Method, task: Task, kind: Scenario) -> Accuracies:
    """Measure the accuracy on a task's test set in every scenario of the stream.

    Class-IL and Domain-IL: all N columns compete. Task-IL: the same scores, with the columns of other tasks out of it.

    Args:
        method: What to test.
        task: Whose test set to use.
        kind: The kind of stream it belongs to.

    Returns:
        Percent by scenario; None where the method has no score for any of the task's classes.
    """
    result = scores(method, task.test)
    if result[:, list(task.classes)].isneginf().all():
        return dict.fromkeys(scenarios(kind))
    labels = task.test.labels
    if kind == "domain":
        return {"domain_il": accuracy(result, labels)}
    return {"class_il": accuracy(result, labels), "task_il": accuracy(result, labels, task.classes)}


def can_recalibrate(method: Method) -> bool:
    """Tell whether there is anything to recalibrate, and anything to do it with."""
    return method.keeps_memory and bool(batch_norms(method.net))


def recalibrated_statistics(method: Method, seed: int, batch_size: int) -> Tensor:
    """Compute BatchNorm statistics from class-balanced draws of a method's memory.

    The images are shown as in a test, without augmentation. Nothing of the original changes, and no random number that
    training uses is drawn.

    Args:
        method: Whose network and memory to use; the memory holds at least one item.
        seed: Determines the draws.
        batch_size: The size of a draw; at least one item of every class is drawn.

    Returns:
        Tensor of shape (all statistics,), for `with_statistics`.
    """
    memory = method.memory
    generator = named_generator(seed, f"recalibrate/{memory.seen}")
    net = deepcopy(method.net)
    classes = len(memory.index.classes)

    def inputs() -> Tensor:
        rows = memory.draw_balanced(max(batch_size, 2 * classes), classes, generator)
        return method.transform.test(memory.images[rows if len(rows) else slice(None)])

    return recompute_statistics(net, (inputs() for _ in range(_RECALIBRATION_DRAWS)), method.compute)


def with_statistics(method: Method, statistics: Tensor) -> Method:
    """Copy a method with other BatchNorm statistics, for evaluation only."""
    net = deepcopy(method.net)
    set_statistics(net, statistics)
    return method.with_net(net)


class Evaluator(ShowsSettings):
    """Measures a method in the course of a run, and holds what was measured.

    Each measurement is an iterator that makes one test set's pass at a time, so that a run can be stopped between two.
    It starts after the `done` sets that were tested before, and yields how many there are in all.

    Attributes:
        record: Accuracies of the method as it is.
        recalibrated_record: Accuracies with recalibrated BatchNorm statistics; None: not requested, or not possible.
        statistics: These statistics, while a task is being evaluated.
        features: Test sets' features and labels, until the latent space is summarized.
        latent: The summary of the latent space; empty before the end of the run.
    """

    def __init__(
        self, stream: TaskStream, method: Method, work: ResumableWork, *, recalibrate: bool, seed: int, device: str
    ) -> None:
        """Start with nothing measured.

        Args:
            stream: Whose test sets to use.
            method: What to measure.
            work: Makes each pass resumable.
            recalibrate: Whether to measure a second time with recalibrated statistics, where that is possible.
            seed: Determines the draws for recalibration.
            device: Where the network is.
        """
        self._stream, self._method, self._work, self._seed, self._device = stream, method, work, seed, device
        kinds = scenarios(stream.scenario)
        self.record = Record(kinds, len(stream))
        self.recalibrated_record = Record(kinds, len(stream)) if recalibrate and can_recalibrate(method) else None
        self.statistics: Tensor | None = None
        self.features: list[tuple[Tensor, Tensor]] = []
        self.latent: dict[str, float | None] = {}

    def test_untrained(self, done: int) -> Iterator[int]:
        """Test the network before the first task on all test sets."""
        for index in range(done, len(self._stream)):
            self.record.put_untrained(index, self._accuracies(self._method, index))
            yield len(self._stream)

    def test_after(self, row: int, done: int) -> Iterator[int]:
        """Fill a row: the tasks seen so far and the next one (forward transfer), then the recalibrated ones."""
        second = self.recalibrated_record
        tests = [(self.record, index) for index in range(min(row + 2, len(self._stream)))]
        if second is not None and len(self._method.memory):
            tests += [(second, index) for index in range(row + 1)]
        twin: Method | None = None
        for record, index in tests[done:]:
            method = self._method
            if record is second:
                method = twin = twin or self._recalibrated()
            record.put(row, index, self._accuracies(method, index))
            yield len(tests)
        self.statistics = None

    def summarize_latent_space(self, done: int) -> Iterator[int]:
        """Compute the features of all test sets, then those of the memory, and keep their summary alone.

        The features are those of evaluation mode, without augmentation; until all are there they are part of the state.
        """
        memory = self._method.memory
        for index in range(done, len(self._stream)):
            data = self._stream[index].to(self._device).test
            self.features.append((self._features(data.images), data.labels))
            yield len(self._stream)
        self.latent = latent_summary(self.features, self._features(memory.images), memory.labels)
        self.features.clear()

    def _features(self, images: Tensor) -> Tensor:
        with self._work.unit("evaluate", changes=False):
            return features_of(self._method.net, images, self._method.transform.test, self._work.compute)

    def _accuracies(self, method: Method, index: int) -> Accuracies:
        with self._work.unit("evaluate", changes=False):
            return evaluate(method, self._stream[index].to(self._device), self._stream.scenario)

    def _recalibrated(self) -> Method:
        """Copy the method with other BatchNorm statistics, which are part of the state until the task is evaluated."""
        if self.statistics is None:
            with self._work.unit("evaluate", changes=False):
                statistics = recalibrated_statistics(self._method, self._seed, self._method.batch_size)
            self.statistics = statistics
        return with_statistics(self._method, self.statistics)

    def summaries(self) -> dict[str, Any]:
        """Summarize what was measured, in the layout of `metrics.json`."""
        record = self.recalibrated_record
        recalibrated = None if record is None else record.summaries()
        return {**self.record.summaries(), "recalibrated": recalibrated, "latent": dict(self.latent)}

    def state_dict(self) -> dict[str, Any]:
        """Return everything measured so far."""
        record = self.recalibrated_record
        return {
            "record": self.record.state_dict(),
            "recalibrated_record": None if record is None else record.state_dict(),
            "statistics": self.statistics,
            "features": list(self.features),
            "latent": dict(self.latent),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self.record.load_state_dict(state["record"])
        if self.recalibrated_record is not None:
            self.recalibrated_record.load_state_dict(state["recalibrated_record"])
        statistics = state["statistics"]
        self.statistics = None if statistics is None else statistics.to(self._device)
        self.features = [(each.to(self._device), labels.to(self._device)) for each, labels in state["features"]]
        self.latent = dict(state["latent"])
