"""How well a method does on a task's test set."""

from copy import deepcopy

import torch
from torch import Tensor

from casper.methods import Method
from casper.metrics import Accuracies, accuracy
from casper.nets import CHUNK, batch_norms, evaluating, recompute_statistics, set_statistics
from casper.randomness import named_generator
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
            [method.piece(lambda chunk=chunk: method.predict(chunk)) for chunk in images.images.split(CHUNK)]  # type: ignore[misc]
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

    return recompute_statistics(net, (inputs() for _ in range(_RECALIBRATION_DRAWS)), method.piece)


def with_statistics(method: Method, statistics: Tensor) -> Method:
    """Copy a method with other BatchNorm statistics, for evaluation only."""
    net = deepcopy(method.net)
    set_statistics(net, statistics)
    return method.with_net(net)
