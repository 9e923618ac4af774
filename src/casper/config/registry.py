"""The names of methods, regularizers, streams, backbones and trunks.

Every option that takes a name also takes a custom part as `package.module:Class`. Some also take prefixed names:
`hub:OWNER/NAME`, `folder:PATH`, `npz:FILE`, `timm:NAME`, `file:PATH`.
"""

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from casper.config.errors import ConfigError, nearest_pattern, unknown
from casper.config.parameters import documented

if TYPE_CHECKING:
    from casper.methods import Method
    from casper.nets import Backbone, Trunk
    from casper.regularizers import Regularizer
    from casper.streams import TaskStream

_Part = TypeVar("_Part", bound=Callable[..., Any], covariant=True)
Kind = Literal["method", "regularizer", "stream", "backbone", "trunk"]
Find = Callable[[Kind, str], Callable[..., Any]]


class Parts(Mapping[str, _Part]):
    """The parts of one kind by name. A part, and PyTorch with it, is imported when it is looked up."""

    def __init__(self, package: str, names: Mapping[str, str]) -> None:
        self.package, self._names = package, names

    def __getitem__(self, name: str) -> _Part:
        part: _Part = getattr(importlib.import_module(self.package), self._names[name])
        return part

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


METHODS: Parts[type["Method"]] = Parts(
    "casper.methods",
    {
        "finetune": "Finetune",
        "joint": "Joint",
        "er": "ER",
        "er-ace": "ERACE",
        "icarl": "ICaRL",
        "der++": "DERpp",
        "x-der": "XDER",
        "podnet": "PODNet",
        "scr": "SCR",
        "pser-ace": "PsERACE",
        "ccic": "CCIC",
    },
)
REGULARIZERS: Parts[type["Regularizer"]] = Parts(
    "casper.regularizers", {"casper": "CaSpeR", "forward-only": "ForwardOnly", "cscct": "CSCCT"}
)
STREAMS: Parts[Callable[..., "TaskStream"]] = Parts(
    "casper.streams",
    {
        "split-digits": "split_digits",
        "rotated-digits": "rotated_digits",
        "split-mnist": "split_mnist",
        "split-fashion-mnist": "split_fashion_mnist",
        "split-cifar10": "split_cifar10",
        "split-cifar100": "split_cifar100",
        "split-mini-imagenet": "split_mini_imagenet",
        "rotated-mnist": "rotated_mnist",
    },
)
BACKBONES: Parts[type["Backbone"]] = Parts(
    "casper.nets",
    {
        "convnet": "ConvNet",
        "mlp": "MLP",
        "resnet18": "ResNet18",
        "efficientnet-b2": "EfficientNetB2",
        "efficientnet-lite0": "EfficientNetLite0",
        "adapter": "Adapter",
    },
)
TRUNKS: Parts[type["Trunk"]] = Parts("casper.nets", {"efficientnet-lite0": "Lite0Trunk"})
KINDS: dict[Kind, Parts[Callable[..., Any]]] = {
    "method": METHODS,
    "regularizer": REGULARIZERS,
    "stream": STREAMS,
    "backbone": BACKBONES,
    "trunk": TRUNKS,
}
# Names with a placeholder in capitals, which the user replaces; the text becomes the first argument.
PATTERNS: dict[Kind, Parts[Callable[..., Any]]] = {
    "method": Parts("casper.methods", {}),
    "regularizer": Parts("casper.regularizers", {}),
    "stream": Parts(
        "casper.streams", {"hub:OWNER/NAME": "split_hub", "folder:PATH": "split_folder", "npz:FILE": "split_npz"}
    ),
    "backbone": Parts("casper.nets", {"timm:NAME": "TimmBackbone"}),
    "trunk": Parts("casper.nets", {"timm:NAME": "TimmTrunk", "file:PATH": "FileTrunk"}),
}
# The base class of a custom part; a stream may also be a function that returns one.
_BASES: dict[Kind, str] = {
    "method": "Method",
    "regularizer": "Regularizer",
    "stream": "TaskStream",
    "backbone": "Backbone",
    "trunk": "Trunk",
}


def find_part(kind: Kind, name: str) -> Callable[..., Any]:
    """Look up the class or function behind a name.

    Args:
        kind: The kind of part.
        name: A known name, a prefixed name such as `folder:PATH`, or `package.module:Class` of a custom part. Modules
            are also searched in the working directory.

    Raises:
        ConfigError: If the name is unknown, or belongs to a part of another kind.

    Example:
        >>> from casper.config import find_part
        >>> find_part("method", "er-ace").__name__
        'ERACE'
        >>> find_part("backbone", "resnet81")
        Traceback (most recent call last):
        ...
        casper.config.errors.ConfigError: unknown backbone 'resnet81'; did you mean 'resnet18'? valid: ...
    """
    if ":" not in name:
        if name not in KINDS[kind]:
            raise _unknown_part(kind, name)
        return KINDS[kind][name]
    prefix, _, rest = name.partition(":")
    for pattern in PATTERNS[kind]:
        if pattern.partition(":")[0] == prefix:
            if not rest:
                raise ConfigError(f"--{kind} {name} must be given as {pattern}")
            return partial(PATTERNS[kind][pattern], rest)
    found = _import(kind, name)
    if not _fits(kind, found):
        stream = "a function annotated to return a TaskStream"
        wanted = stream if kind == "stream" else f"a subclass of casper.{_BASES[kind]}"
        raise ConfigError(f"--{kind} {name} must be {wanted}, but got {_described(found)}")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise ConfigError(f"--{kind} {name} must implement {missing}, but it does not")
    return found  # type: ignore[no-any-return]


def custom_parts(values: Mapping[str, Any]) -> list[tuple[Kind, str]]:
    """List the parts given as `package.module:Class`: their kinds, and their names.

    Args:
        values: The options of a run; other keys, and values that are not names, are ignored.
    """
    return [
        (kind, name)
        for kind in KINDS
        for name in (values[kind] if isinstance(values.get(kind), list) else [values.get(kind)])
        if isinstance(name, str)
        if ":" in name and name.partition(":")[0] not in {pattern.partition(":")[0] for pattern in PATTERNS[kind]}
    ]


def parts_with_code(values: Mapping[str, Any]) -> list[tuple[Kind, str]]:
    """List the parts that run code of the user's: `custom_parts`, and a trunk given as `file:PATH`."""
    trunk = str(values.get("trunk"))
    from_file: list[tuple[Kind, str]] = [("trunk", trunk)] if trunk.startswith("file:") else []
    return [*custom_parts(values), *from_file]


def _unknown_part(kind: Kind, name: str) -> ConfigError:
    return unknown(kind, name, [*KINDS[kind], *PATTERNS[kind]])


def _import(kind: Kind, name: str) -> Any:
    module_name, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
        found = getattr(module, attribute, None)
    except (Exception, SystemExit) as error:  # importing a custom module may raise anything
        missing = isinstance(error, ModuleNotFoundError) and error.name == module_name.partition(".")[0]
        if missing and nearest_pattern(name, PATTERNS[kind]):
            raise _unknown_part(kind, name) from error
        raise ConfigError(f"--{kind} {name}: module {module_name!r} cannot be imported: {error!r}") from error
    if found is None:
        fitting = [key for key, value in vars(module).items() if not key.startswith("_") and _fits(kind, value)]
        if fitting:
            raise unknown(f"{kind} in module {module_name!r}", attribute, fitting)
        raise ConfigError(f"module {module_name!r} has no {kind}; --{kind} must be given as package.module:Class")
    return found


def _described(found: Any) -> str:
    return f"the class {found.__name__}" if isinstance(found, type) else type(found).__name__


def _fits(kind: Kind, found: Any) -> bool:
    """Return whether an object can be used as a part of this kind.

    The function of a stream must be annotated to return a stream, so that a configuration file cannot call arbitrary
    functions.
    """
    base = getattr(importlib.import_module(KINDS[kind].package), _BASES[kind])
    return _is_subclass(found, base) or (kind == "stream" and _returns(found, base))


def _returns(found: Any, base: type) -> bool:
    annotation = getattr(found, "__annotations__", {}).get("return") if inspect.isroutine(found) else None
    named = isinstance(annotation, str) and annotation.rpartition(".")[2] == base.__name__
    return named or _is_subclass(annotation, base)


def _is_subclass(found: Any, base: type) -> bool:
    return inspect.isclass(found) and issubclass(found, base)


def describe(thing: Callable[..., Any]) -> str:
    """Return the first paragraph of a docstring, in one line.

    Example:
        >>> from casper.config import METHODS, describe
        >>> describe(METHODS["er"]).endswith(".")
        True
    """
    return explain(thing)[0]


def explain(thing: Callable[..., Any]) -> list[str]:
    """Return the paragraphs of a docstring before the arguments; formulas and lists keep their line breaks.

    Example:
        >>> from casper.config import REGULARIZERS, describe, explain
        >>> explain(REGULARIZERS["casper"])[0] == describe(REGULARIZERS["casper"])
        True
    """
    text = re.split(r"\n(?:Args|Attributes|Returns|Raises|Example):", inspect.getdoc(documented(thing)) or "")[0]
    paragraphs = text.strip().split("\n\n")
    return [text if text.startswith((" ", "-")) else text.replace("\n", " ") for text in paragraphs]
