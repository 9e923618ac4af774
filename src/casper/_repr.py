"""The `repr` of objects: the class and the constructor arguments."""

import functools
import inspect
import operator
import reprlib
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any


class ShowsSettings:
    """Provides a `repr` with all constructor arguments, for subclasses of any depth: `DERpp(alpha=0.5, beta=0.1)`.

    The arguments are stored as text after the constructor has succeeded, so objects hold no reference to them. A data
    class (`repr=False`) reads them from its attributes. A module also prints PyTorch's tree of submodules.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if inspect.isfunction(vars(cls).get("__init__")):
            cls.__init__ = _noting(cls.__init__)  # type: ignore[method-assign]

    def __repr__(self) -> str:
        if (module := _torch("nn.Module")) and isinstance(self, module):
            return str(module.__repr__(self))
        return f"{type(self).__name__}({self.extra_repr()})"

    def extra_repr(self) -> str:
        """Format the constructor arguments without the class name."""
        noted: str | None = getattr(self, "_casper_settings", None)
        return _fields_text(self) if noted is None else noted


def _noting(constructor: Callable[..., None]) -> Callable[..., None]:
    """Wrap a constructor so that it records its arguments, unless a subclass overrides it."""

    @functools.wraps(constructor)
    def noting(self: Any, *args: Any, **kwargs: Any) -> None:
        constructor(self, *args, **kwargs)
        if type(self).__init__ is noting:
            with suppress(Exception):  # no argument may prevent the construction
                bound = inspect.signature(constructor, follow_wrapped=False).bind(self, *args, **kwargs)
                bound.apply_defaults()
                _, *settings = bound.arguments.items()
                vars(self)["_casper_settings"] = settings_text(dict(settings))

    return noting


def settings_text(settings: dict[str, Any]) -> str:
    """Format settings as `alpha=0.5, beta=0.1`: tensors by shape, functions by name, long values truncated."""
    return ", ".join(f"{name}={_short.repr(value)}" for name, value in settings.items())


def _torch(name: str) -> Any:
    """Look up a class of PyTorch; returns None if PyTorch is not imported, so that no instance can exist."""
    return operator.attrgetter(name)(sys.modules["torch"]) if "torch" in sys.modules else None


def _fields_text(thing: Any) -> str:
    """Format the fields of a data class; returns an empty string for anything else."""
    if not is_dataclass(thing):
        return ""
    names = [field.name for field in fields(thing) if field.init and hasattr(thing, field.name)]
    return settings_text({name: getattr(thing, name) for name in names})


class _Short(reprlib.Repr):
    def repr1(self, value: Any, level: int) -> str:
        kind: Any = type(value)
        if hasattr(kind, "shape") and hasattr(kind, "dtype"):  # a tensor, an array
            place = str(getattr(value, "device", "cpu"))
            device = "" if place == "cpu" else f", device='{place}'"
            return f"{kind.__name__}(shape={tuple(value.shape)}, dtype={value.dtype}{device})"
        if is_dataclass(value) and not isinstance(value, ShowsSettings | type):
            return f"{type(value).__name__}({_fields_text(value)})"
        if isinstance(value, _torch("nn.Module") or ()) or kind.__repr__ is object.__repr__:
            return f"{kind.__name__}(...)"
        if isinstance(value, type) or inspect.isroutine(value):
            return str(value.__qualname__)
        if isinstance(value, functools.partial):
            parts = [*map(self.repr, (value.func, *value.args)), settings_text(value.keywords)]
            return f"partial({', '.join(filter(None, parts))})"
        return super().repr1(value, level)


_short = _Short()
_short.maxtuple = _short.maxlist = _short.maxdict = 10
_short.maxstring, _short.maxother = 100, 500
