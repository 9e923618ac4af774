"""Hyper-parameters are constructor arguments: names, types and defaults come from the signature."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from casper.config.errors import ConfigError, brief

# Arguments that the run supplies; they are options, not hyper-parameters, unless a class lists them in `own_arguments`.
_SUPPLIED = {"image_shape", "seed", "num_tasks", "class_order", "image_size", "data_dir"}


@dataclass(frozen=True)
class HyperParameter:
    """A constructor argument of a method, regularizer, stream or backbone.

    Attributes:
        name: The argument's name.
        annotation: Its type.
        default: Its default, or `inspect.Parameter.empty` if it is required.

    Example:
        >>> from casper.config import HyperParameter
        >>> parameter = HyperParameter("alpha", float, 0.5)
        >>> str(parameter), parameter.required
        ('alpha=0.5', False)
    """

    name: str
    annotation: Any
    default: Any

    @property
    def required(self) -> bool:
        """Whether the argument has no default."""
        return self.default is inspect.Parameter.empty

    def __str__(self) -> str:
        return f"{self.name} (required)" if self.required else f"{self.name}={self.default}"


def hyper_parameters(factory: Callable[..., Any]) -> dict[str, HyperParameter]:
    """Read the hyper-parameters of a class or function, in the order of its signature.

    Example:
        >>> from casper import DERpp
        >>> from casper.config import hyper_parameters
        >>> [str(parameter) for parameter in hyper_parameters(DERpp).values()]
        ['alpha=0.5', 'beta=0.1']
    """
    target = _function_with_arguments(factory)
    if target is object.__init__:
        return {}
    signature = signature_of(factory)
    try:
        hints = get_type_hints(target)
    except (NameError, TypeError) as error:
        raise ConfigError(f"the type hints of {factory!r} cannot be read: {error}") from error
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    supplied = _SUPPLIED - getattr(documented(factory), "own_arguments", frozenset())
    return {
        name: HyperParameter(name, hints.get(name, Any), parameter.default)
        for name, parameter in signature.parameters.items()
        if parameter.kind in named and name not in supplied
    }


def meanings(factory: Callable[..., Any]) -> dict[str, str]:
    """Read the description of each hyper-parameter from the `Args:` section of the docstring.

    Hyper-parameters that the section does not describe are left out.

    Example:
        >>> from casper import CaSpeR
        >>> from casper.config import meanings
        >>> list(meanings(CaSpeR))[:3]
        ['weight', 'num_classes', 'num_neighbors']
    """
    written = inspect.getdoc(_function_with_arguments(factory)) or ""
    section = written.partition("Args:\n")[2].split("\n\n")[0]
    entries = re.split(r"^ {4}(\w+): ", section, flags=re.MULTILINE)[1:]
    texts = dict(zip(entries[::2], (" ".join(text.split()) for text in entries[1::2]), strict=True))
    return {name: texts[name] for name in hyper_parameters(factory) if name in texts}


def documented(factory: Callable[..., Any]) -> Callable[..., Any]:
    """Return the class or function that has the docstring: for a `partial`, the one it calls."""
    return factory.func if isinstance(factory, partial) else factory


def _function_with_arguments(factory: Callable[..., Any]) -> Any:
    bare: Any = documented(factory)
    return bare.__init__ if inspect.isclass(bare) else bare


def signature_of(factory: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a class or function, or raise `ConfigError`."""
    try:
        return inspect.signature(factory)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the signature of {factory!r} cannot be read: {error}") from error


def takes(factory: Callable[..., Any], argument: str) -> bool:
    """Return whether a class or function has an argument of this name."""
    return argument in signature_of(factory).parameters


def validated(key: str, annotation: Any, value: Any) -> Any:
    """Check a value against a type, or raise `ConfigError` with the key, the requirement and the value."""
    try:
        return TypeAdapter(annotation, config=ConfigDict(strict=True, allow_inf_nan=False)).validate_python(value)
    except ValidationError as error:
        raise ConfigError(f"{key} {in_words(error)}") from error


def in_words(error: ValidationError) -> str:
    """Format the first error of pydantic in one line: the requirement, then the value."""
    first = error.errors()[0]
    # Of "Input should be a valid integer, unable to parse string as an integer" the first half is enough.
    requirement = first["msg"].removeprefix("Input ").replace("should ", "must ", 1).partition(", unable to ")[0]
    return f"{requirement.replace('greater than or equal to', 'at least')}, but got {brief(first['input'])}"
