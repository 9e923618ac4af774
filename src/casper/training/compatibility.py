"""Check that the parts of a run are compatible."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from casper.errors import ParameterError, require
from casper.methods import Method
from casper.nets import Backbone
from casper.regularizers import Regularizer
from casper.streams import TaskStream


def check_compatible(
    stream: TaskStream,
    method: Method,
    regularizers: Sequence[Regularizer],
    backbone: Callable[..., Backbone] | None = None,
    *,
    buffer_size: int,
    batch_size: int,
) -> None:
    """Raise `ParameterError` unless method, stream, memory, regularizers and backbone are compatible.

    Example:
        >>> from casper import ER, split_digits
        >>> from casper.training import check_compatible
        >>> check_compatible(split_digits(), ER(), [], buffer_size=0, batch_size=64)
        Traceback (most recent call last):
        ...
        casper.errors.ParameterError: `buffer_size` must be at least 1 for a method that rehearses, but got 0
    """
    require(batch_size >= 1, "batch_size", "at least 1", batch_size)
    require(buffer_size >= 0, "buffer_size", "at least 0", buffer_size)
    if stream.scenario not in method.scenarios:
        known = " or ".join(sorted(method.scenarios))
        raise ParameterError(
            "stream", f"{known}-incremental for {type(method).__name__}", f"a {stream.scenario}-incremental stream"
        )
    if stream.views is not None:
        _check_vectors(method, backbone)
    if method.keeps_memory:
        require(buffer_size >= 1, "buffer_size", "at least 1 for a method that rehearses", buffer_size)
    method.check(stream, buffer_size)
    names = [regularizer.name for regularizer in regularizers]
    require(len(set(names)) == len(names), "regularizers", "distinct", names)
    if stream.hides_labels and not method.takes_unlabelled:
        found = type(method).__name__
        raise ParameterError("method", "one that supports hidden labels for this stream", found)
    for regularizer in regularizers:
        if stream.scenario not in regularizer.scenarios:
            raise ParameterError(
                "stream", f"class-incremental for {regularizer.name!r}", f"a {stream.scenario}-incremental stream"
            )
        if regularizer.needs_past and len(method.phases(stream)) < len(stream):
            raise ParameterError(
                "regularizers",
                f"without {regularizer.name!r}, which needs an earlier task, if the method learns all tasks at once",
                f"{regularizer.name!r} with {type(method).__name__}",
            )
        if regularizer.needs_memory and not method.keeps_memory:
            raise ParameterError(
                "regularizers",
                f"without {regularizer.name!r}, which needs a memory, if the method has none",
                f"{regularizer.name!r} with {type(method).__name__}",
            )
        regularizer.check(batch_size=batch_size)


def _check_vectors(method: Method, backbone: Callable[..., Backbone] | None) -> None:
    """Raise `ParameterError` if the method or the backbone needs images. A function is not checked, only a class."""
    if method.needs_images or method.needs_maps:
        found = f"{type(method).__name__}, which does not"
        raise ParameterError("method", "one that works on feature vectors, as this stream has", found)
    made: Any = backbone.func if isinstance(backbone, partial) else backbone
    if not getattr(made, "takes_vectors", True):
        wanted = "one for feature vectors, such as adapter or mlp"
        raise ParameterError("backbone", wanted, f"{made.__name__}, which needs images")


def check_settings(epochs: int, lr: float, milestones: Sequence[int], gamma: float) -> None:
    """Raise `ParameterError` unless the settings of the training are valid."""
    require(epochs >= 1, "epochs", "at least 1", epochs)
    require(0 < lr < float("inf"), "lr", "a positive finite number", lr)
    require(0 < gamma < float("inf"), "gamma", "a positive finite number", gamma)
    require(all(milestone >= 1 for milestone in milestones), "milestones", "epochs of at least 1", milestones)
