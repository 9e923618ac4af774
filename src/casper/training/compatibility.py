"""Do the parts of a run fit together?"""

from collections.abc import Sequence

from casper.errors import ParameterError, require
from casper.methods import Method
from casper.regularizers import Regularizer
from casper.streams import TaskStream


def check_compatible(
    stream: TaskStream, method: Method, regularizers: Sequence[Regularizer], *, buffer_size: int, batch_size: int
) -> None:
    """Raise `ParameterError` unless method, stream, memory and regularizers can work together."""
    require(batch_size >= 1, "batch_size", "at least 1", batch_size)
    require(buffer_size >= 0, "buffer_size", "at least 0", buffer_size)
    if stream.scenario not in method.scenarios:
        known = " or ".join(sorted(method.scenarios))
        raise ParameterError(
            "stream", f"{known}-incremental for {type(method).__name__}", f"a {stream.scenario}-incremental one"
        )
    if method.keeps_memory:
        require(buffer_size >= 1, "buffer_size", "at least 1 for a method that rehearses", buffer_size)
    method.check(stream, buffer_size)
    names = [regularizer.name for regularizer in regularizers]
    require(len(set(names)) == len(names), "regularizers", "different from each other", names)
    if stream.hides_labels and not method.takes_unlabelled:
        found = f"{type(method).__name__}, which cannot"
        raise ParameterError("method", "one that can learn from a stream with hidden labels", found)
    for regularizer in regularizers:
        if stream.scenario not in regularizer.scenarios:
            raise ParameterError(
                "stream", f"class-incremental for {regularizer.name!r}", f"a {stream.scenario}-incremental one"
            )
        if regularizer.needs_past and len(method.phases(stream)) < len(stream):
            raise ParameterError(
                "regularizers",
                f"without {regularizer.name!r}, which needs a task before, for a method that learns all at once",
                f"{regularizer.name!r} with {type(method).__name__}",
            )
        if regularizer.needs_memory and not method.keeps_memory:
            raise ParameterError(
                "regularizers",
                f"without {regularizer.name!r}, which needs a memory, for a method that keeps none",
                f"{regularizer.name!r} with {type(method).__name__}",
            )
        regularizer.check(batch_size=batch_size)


def check_settings(epochs: int, lr: float, milestones: Sequence[int], gamma: float) -> None:
    """Raise `ParameterError` unless these can describe how a task is learned."""
    require(epochs >= 1, "epochs", "at least 1", epochs)
    require(0 < lr < float("inf"), "lr", "a positive finite number", lr)
    require(0 < gamma < float("inf"), "gamma", "a positive finite number", gamma)
    require(all(milestone >= 1 for milestone in milestones), "milestones", "at least 1 each", milestones)
