"""Hyper-parameters are constructor arguments: their names, types and defaults are read from the signature."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from casper.config.errors import ConfigError, brief

# Arguments that the run itself supplies.
_SUPPLIED = {"image_shape", "seed", "num_tasks", "class_order", "image_size", "data_dir"}


@dataclass(frozen=True)
class HyperParameter:
    """One constructor argument.

    Attributes:
        name: Its name.
        annotation: Its type.
        default: Its default; `inspect.Parameter.empty`: none, it must be given.
    """

    name: str
    annotation: Any
    default: Any

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty

    def __str__(self) -> str:
        return f"{self.name} (required)" if self.required else f"{self.name}={self.default}"


def hyper_parameters(factory: Callable[..., Any]) -> dict[str, HyperParameter]:
    """Read the hyper-parameters of a class or function, in the order of its signature."""
    target = _taking_arguments(factory)
    if target is object.__init__:
        return {}
    signature = signature_of(factory)
    try:
        hints = get_type_hints(target)
    except (NameError, TypeError) as error:
        raise ConfigError(f"{factory!r} has no type hints that can be read: {error}") from error
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        name: HyperParameter(name, hints.get(name, Any), parameter.default)
        for name, parameter in signature.parameters.items()
        if parameter.kind in named and name not in _SUPPLIED
    }


def meanings(factory: Callable[..., Any]) -> dict[str, str]:
    """Read what each hyper-parameter means from the section `Args:` of the docstring; those not in it are left out."""
    written = inspect.getdoc(_taking_arguments(factory)) or ""
    section = written.partition("Args:\n")[2].split("\n\n")[0]
    entries = re.split(r"^ {4}(\w+): ", section, flags=re.MULTILINE)[1:]
    texts = dict(zip(entries[::2], (" ".join(text.split()) for text in entries[1::2]), strict=True))
    return {name: texts[name] for name in hyper_parameters(factory) if name in texts}


def documented(factory: Callable[..., Any]) -> Callable[..., Any]:
    """Take the class or function that has the docstring: behind a `partial`, the one it calls."""
    return factory.func if isinstance(factory, partial) else factory


def _taking_arguments(factory: Callable[..., Any]) -> Any:
    bare: Any = documented(factory)
    return bare.__init__ if inspect.isclass(bare) else bare


def signature_of(factory: Callable[..., Any]) -> inspect.Signature:
    """Read the signature of a class or function, or raise `ConfigError`."""
    try:
        return inspect.signature(factory)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{factory!r} has no signature that can be read: {error}") from error


def takes(factory: Callable[..., Any], argument: str) -> bool:
    """Tell whether a class or function has an argument of this name."""
    return argument in signature_of(factory).parameters


def validated(key: str, annotation: Any, value: Any) -> Any:
    """Check a value against a type, or raise `ConfigError` naming the key, the requirement and what was found."""
    try:
        return TypeAdapter(annotation, config=ConfigDict(strict=True, allow_inf_nan=False)).validate_python(value)
    except ValidationError as error:
        raise ConfigError(f"{key} {in_words(error)}") from error


def in_words(error: ValidationError) -> str:
    """Put pydantic's first error into one line: the requirement, then the value."""
    first = error.errors()[0]
    requirement = first["msg"].removeprefix("Input ").replace("should ", "must ", 1)
    return f"{requirement.replace('greater than or equal to', 'at least')}, but got {brief(first['input'])}"
