"""How objects show themselves: their class, and the settings they were made with."""

import functools
import inspect
import operator
import reprlib
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any


class ShowsSettings:
    """Has a `repr` of all constructor arguments, for subclasses of any depth: `DERpp(alpha=0.5, beta=0.1)`.

    What a constructor was given is noted as text, once it has succeeded; objects keep no reference to it. A data class
    (`repr=False`) has its arguments as attributes. A module shows PyTorch's tree below its settings.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            cls.__init__ = _noting(cls.__init__)  # type: ignore[method-assign]

    def __repr__(self) -> str:
        if (module := _torch("nn.Module")) and isinstance(self, module):
            return str(module.__repr__(self))
        return f"{type(self).__name__}({self.extra_repr()})"

    def extra_repr(self) -> str:
        """Show the settings alone."""
        shown: Any = self
        if is_dataclass(shown):
            return settings_text({field.name: getattr(shown, field.name) for field in fields(shown) if field.init})
        return str(vars(self).get("_settings", ""))


def _noting(constructor: Callable[..., None]) -> Callable[..., None]:
    """Have the constructor of an object's own class note its arguments."""

    @functools.wraps(constructor)
    def noting(self: Any, *args: Any, **kwargs: Any) -> None:
        constructor(self, *args, **kwargs)
        if type(self).__init__ is noting:
            bound = inspect.signature(constructor).bind(self, *args, **kwargs)
            bound.apply_defaults()
            _, *settings = bound.arguments.items()
            vars(self)["_settings"] = settings_text(dict(settings))

    return noting


def settings_text(settings: dict[str, Any]) -> str:
    """Put settings into words: `alpha=0.5, beta=0.1`; tensors by shape, functions by name, long ones cut short."""
    return ", ".join(f"{name}={_short.repr(value)}" for name, value in settings.items())


def _torch(name: str) -> Any:
    """Look up a class of PyTorch; None if PyTorch has not been imported: then there is no object of it."""
    return operator.attrgetter(name)(sys.modules["torch"]) if "torch" in sys.modules else None


class _Short(reprlib.Repr):
    def repr1(self, value: Any, level: int) -> str:
        if isinstance(value, _torch("Tensor") or ()):
            place = "" if value.device.type == "cpu" else f", device='{value.device}'"
            return f"Tensor(shape={tuple(value.shape)}, dtype={value.dtype}{place})"
        kind: Any = type(value)
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
