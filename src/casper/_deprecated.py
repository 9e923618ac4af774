"""Old names, which keep working for one release with a `DeprecationWarning`."""

import functools
import warnings
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)

TRAINER_ATTRIBUTES = {
    "tell": "notify",
    "book": "stopwatch.add",
    "pieces": "work",
    "data": "checksums",
    "fingerprint": "stream.checksums",
    "seconds": "stopwatch.run",
    "task_seconds": "stopwatch.task",
    **{name: f"evaluator.{name}" for name in ("record", "recalibrated_record", "statistics", "features", "latent")},
}


def warn_renamed(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Say that a name has changed."""
    warnings.warn(f"`{old}` is now `{new}`; the old name goes with the next release", DeprecationWarning, stacklevel)


def renamed_attribute(old: str, new: str) -> Any:
    """Make a property that reads an attribute under its old name; the new name may be dotted."""

    def read(self: Any) -> Any:
        warn_renamed(f"{type(self).__name__}.{old}", f"{type(self).__name__}.{new}")
        return attrgetter(new)(self)

    def write(self: Any, value: Any) -> None:
        warn_renamed(f"{type(self).__name__}.{old}", f"{type(self).__name__}.{new}")
        setattr(self, new, value)

    return property(read, None if "." in new else write, doc=f"The old name of `{new}`.")


def renamed_attributes(renamed: Mapping[str, str]) -> Callable[[_Class], _Class]:
    """Have a class offer attributes under their old names."""

    def decorate(cls: _Class) -> _Class:
        for old, new in renamed.items():
            setattr(cls, old, renamed_attribute(old, new))
        return cls

    return decorate


def renamed_arguments(**renamed: str) -> Callable[[_Function], _Function]:
    """Have a function accept arguments by their old names: `renamed_arguments(old="new")`."""

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def accept(*args: Any, **kwargs: Any) -> Any:
            for old in renamed.keys() & kwargs.keys():
                warn_renamed(f"{function.__qualname__}({old}=...)", f"{renamed[old]}=...")
                kwargs[renamed[old]] = kwargs.pop(old)
            return function(*args, **kwargs)

        return accept  # type: ignore[return-value]

    return decorate


def adopt_renamed_methods(cls: type, renamed: Mapping[str, str]) -> None:
    """Take methods that a subclass defines under their old names for those of the new names."""
    for old, new in renamed.items():
        if old in vars(cls) and new not in vars(cls):
            warn_renamed(f"{cls.__name__}.{old}", new, stacklevel=4)
            setattr(cls, new, vars(cls)[old])
