"""Evaluate a method: accuracy on test sets, with and without recalibration, and a summary of the latent space."""

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

# The number of class-balanced draws from which BatchNorm statistics are recomputed; their average is stable by then.
_RECALIBRATION_DRAWS = 20


def scenarios(kind: Scenario) -> tuple[str, ...]:
    """Return the evaluation scenarios of a stream; class streams have two, without and with the task known.

    Example:
        >>> from casper.training import scenarios
        >>> scenarios("class"), scenarios("domain")
        (('class_il', 'task_il'), ('domain_il',))
    """
    return ("class_il", "task_il") if kind == "class" else ("domain_il",)


def scores(method: Method, images: ImageSet) -> Tensor:
    """Compute the scores of images with the network in evaluation mode; its mode is restored afterwards.

    Returns:
        Tensor of shape (n, N).

    Example:
        >>> from casper import ER, Trainer, split_digits
        >>> from casper.training import scores
        >>> trainer = Trainer(split_digits()[:1], ER(), buffer_size=20)
        >>> scores(trainer.method, trainer.stream[0].test).shape
        torch.Size([119, 10])
    """
    with evaluating(method.net):
        return torch.cat(
            [method.compute(lambda chunk=chunk: method.predict(chunk)) for chunk in images.images.split(CHUNK)]  # type: ignore[misc]
        )


def evaluate(method: Method, task: Task, kind: Scenario) -> Accuracies:
    """Measure the accuracy on a task's test set in every scenario of the stream.

    Class-IL and Domain-IL: the maximum is over all N columns. Task-IL: over the columns of the task only.

    Args:
        method: The method to test.
        task: The task whose test set is used.
        kind: The kind of the stream.

    Returns:
        The accuracy in percent by scenario; None if the method has no score for any of the task's classes.

    Example:
        >>> from casper import ER, Trainer, split_digits
        >>> from casper.training import evaluate
        >>> trainer = Trainer(split_digits()[:1], ER(), buffer_size=20)
        >>> accuracies = evaluate(trainer.method, trainer.stream[0], "class")
        >>> 0 <= accuracies["class_il"] <= accuracies["task_il"] <= 100
        True
    """
    result = scores(method, task.test)
    if result[:, list(task.classes)].isneginf().all():
        return dict.fromkeys(scenarios(kind))
    labels = task.test.labels
    if kind == "domain":
        return {"domain_il": accuracy(result, labels)}
    return {"class_il": accuracy(result, labels), "task_il": accuracy(result, labels, task.classes)}


def can_recalibrate(method: Method) -> bool:
    """Return whether the method has a memory and its network has BatchNorm layers.

    Example:
        >>> from casper import ER, MLP, Trainer, split_digits
        >>> from casper.training import can_recalibrate
        >>> with_layers = Trainer(split_digits(), ER(), buffer_size=20)
        >>> without = Trainer(split_digits(), ER(), backbone=MLP, buffer_size=20)
        >>> can_recalibrate(with_layers.method), can_recalibrate(without.method)
        (True, False)
    """
    return method.keeps_memory and bool(batch_norms(method.net))


def recalibrated_statistics(method: Method, seed: int, batch_size: int) -> Tensor:
    """Compute BatchNorm statistics from class-balanced draws of a method's memory.

    The images are transformed as for testing, without augmentation. The method is not modified, and no random number of
    the training is drawn.

    Args:
        method: The method whose network and memory are used; the memory must not be empty.
        seed: The seed of the draws.
        batch_size: The size of a draw, which contains at least one item of every class.

    Returns:
        Tensor of shape (all statistics,), for `with_statistics`.

    Example:
        >>> from casper import ER, Trainer, split_digits
        >>> from casper.training import recalibrated_statistics
        >>> trainer = Trainer(split_digits()[:1], ER(), buffer_size=20)
        >>> trainer.run_phase()
        >>> recalibrated_statistics(trainer.method, seed=0, batch_size=16).ndim
        1
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
    """Return a copy of the method with the given BatchNorm statistics, for evaluation only.

    Example:
        >>> from casper import ER, Trainer, split_digits
        >>> from casper.training import recalibrated_statistics, with_statistics
        >>> trainer = Trainer(split_digits()[:1], ER(), buffer_size=20)
        >>> trainer.run_phase()
        >>> with_statistics(trainer.method, recalibrated_statistics(trainer.method, 0, 16)).net is trainer.net
        False
    """
    net = deepcopy(method.net)
    set_statistics(net, statistics)
    return method.with_net(net)


class Evaluator(ShowsSettings):
    """Evaluates a method during a run, and stores the results.

    Each measurement is an iterator that evaluates one test set at a time, so that a run can be stopped between two. It
    skips the first `done` sets, which were evaluated before, and yields the total number of sets.

    Attributes:
        record: The accuracies of the method.
        recalibrated_record: The accuracies with recalibrated BatchNorm statistics; None if not requested or possible.
        statistics: These statistics, while a task is evaluated.
        features: The features and labels of test sets, until the latent space is summarized.
        latent: The summary of the latent space; empty before the end of the run.

    Example:
        >>> from casper import ER, Trainer, split_digits
        >>> from casper.training import Evaluator
        >>> trainer = Trainer(split_digits()[:2], ER(), buffer_size=20)
        >>> parts = trainer.stream, trainer.method, trainer.work
        >>> list(Evaluator(*parts, recalibrate=False, seed=0, device="cpu").test_untrained(0))
        [2, 2]
    """

    def __init__(
        self, stream: TaskStream, method: Method, work: ResumableWork, *, recalibrate: bool, seed: int, device: str
    ) -> None:
        """Create an evaluator without results.

        Args:
            stream: The stream whose test sets are used.
            method: The method to evaluate.
            work: Makes each pass resumable.
            recalibrate: Whether to evaluate a second time with recalibrated statistics, if possible.
            seed: The seed of the draws for recalibration.
            device: The device of the network.
        """
        self._stream, self._method, self._work, self._seed, self._device = stream, method, work, seed, device
        kinds = scenarios(stream.scenario)
        self.record = Record(kinds, len(stream))
        self.recalibrated_record = Record(kinds, len(stream)) if recalibrate and can_recalibrate(method) else None
        self.statistics: Tensor | None = None
        self.features: list[tuple[Tensor, Tensor]] = []
        self.latent: dict[str, float | None] = {}

    def test_untrained(self, done: int) -> Iterator[int]:
        """Evaluate the untrained network on all test sets."""
        for index in range(done, len(self._stream)):
            self.record.put_untrained(index, self._accuracies(self._method, index))
            yield len(self._stream)

    def test_after(self, row: int, done: int) -> Iterator[int]:
        """Fill a row: the tasks seen so far and the next one (forward transfer), then the recalibrated accuracies."""
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
        """Compute the features of all test sets and of the memory, and store only their summary.

        The network is in evaluation mode, without augmentation. Until the summary exists, the features are part of the
        state.
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
        """Return a recalibrated copy of the method; its statistics are part of the state until the evaluation ends."""
        if self.statistics is None:
            with self._work.unit("evaluate", changes=False):
                statistics = recalibrated_statistics(self._method, self._seed, self._method.batch_size)
            self.statistics = statistics
        return with_statistics(self._method, self.statistics)

    def summaries(self) -> dict[str, Any]:
        """Return the results in the layout of `metrics.json`."""
        record = self.recalibrated_record
        recalibrated = None if record is None else record.summaries()
        return {**self.record.summaries(), "recalibrated": recalibrated, "latent": dict(self.latent)}

    def state_dict(self) -> dict[str, Any]:
        """Return all results so far."""
        record = self.recalibrated_record
        return {
            "record": self.record.state_dict(),
            "recalibrated_record": None if record is None else record.state_dict(),
            "statistics": self.statistics,
            "features": list(self.features),
            "latent": dict(self.latent),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state."""
        self.record.load_state_dict(state["record"])
        if self.recalibrated_record is not None:
            self.recalibrated_record.load_state_dict(state["recalibrated_record"])
        statistics = state["statistics"]
        self.statistics = None if statistics is None else statistics.to(self._device)
        self.features = [(each.to(self._device), labels.to(self._device)) for each, labels in state["features"]]
        self.latent = dict(state["latent"])
