"""Names for the command line: the only place that knows them.

Wherever a name is accepted, `package.module:Class` of the user's own is too; streams and backbones also take names that
say where to look: `hub:`, `folder:`, `npz:`, `timm:`.
"""

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from casper.config.errors import ConfigError, unknown
from casper.config.parameters import documented
from casper.methods import CCIC, ER, ERACE, SCR, XDER, DERpp, Finetune, ICaRL, Joint, Method, PODNet, PsERACE
from casper.nets import MLP, Backbone, ConvNet, EfficientNetB2, ResNet18, TimmBackbone
from casper.regularizers import CSCCT, CaSpeR, ForwardOnly, Regularizer
from casper.streams import (
    TaskStream,
    rotated_digits,
    rotated_mnist,
    split_cifar10,
    split_cifar100,
    split_digits,
    split_fashion_mnist,
    split_folder,
    split_hub,
    split_mini_imagenet,
    split_mnist,
    split_npz,
)

Kind = Literal["method", "regularizer", "stream", "backbone"]

METHODS: dict[str, type[Method]] = {
    "finetune": Finetune,
    "joint": Joint,
    "er": ER,
    "er-ace": ERACE,
    "icarl": ICaRL,
    "der++": DERpp,
    "x-der": XDER,
    "podnet": PODNet,
    "scr": SCR,
    "pser-ace": PsERACE,
    "ccic": CCIC,
}
REGULARIZERS: dict[str, type[Regularizer]] = {"casper": CaSpeR, "forward-only": ForwardOnly, "cscct": CSCCT}
STREAMS: dict[str, Callable[..., TaskStream]] = {
    "split-digits": split_digits,
    "rotated-digits": rotated_digits,
    "split-mnist": split_mnist,
    "split-fashion-mnist": split_fashion_mnist,
    "split-cifar10": split_cifar10,
    "split-cifar100": split_cifar100,
    "split-mini-imagenet": split_mini_imagenet,
    "rotated-mnist": rotated_mnist,
}
BACKBONES: dict[str, type[Backbone]] = {
    "convnet": ConvNet,
    "mlp": MLP,
    "resnet18": ResNet18,
    "efficientnet-b2": EfficientNetB2,
}

KINDS: dict[Kind, Mapping[str, Callable[..., Any]]] = {
    "method": METHODS,
    "regularizer": REGULARIZERS,
    "stream": STREAMS,
    "backbone": BACKBONES,
}
# Names with a part that the user fills in; it is the first argument.
PATTERNS: dict[Kind, Mapping[str, Callable[..., Any]]] = {
    "method": {},
    "regularizer": {},
    "stream": {"hub:OWNER/NAME": split_hub, "folder:PATH": split_folder, "npz:FILE": split_npz},
    "backbone": {"timm:NAME": TimmBackbone},
}
_BASES: dict[Kind, type | None] = {"method": Method, "regularizer": Regularizer, "stream": None, "backbone": Backbone}


def find_part(kind: Kind, name: str) -> Callable[..., Any]:
    """Find what a name stands for.

    Args:
        kind: What is looked for.
        name: One of the known names, or `package.module:Class`; the working directory is searched too.

    Raises:
        ConfigError: If there is no such thing, or it is of another kind.
    """
    if ":" not in name:
        if name not in KINDS[kind]:
            raise unknown(kind, name, [*KINDS[kind], *PATTERNS[kind]])
        return KINDS[kind][name]
    prefix, _, rest = name.partition(":")
    for pattern, factory in PATTERNS[kind].items():
        if pattern.partition(":")[0] == prefix:
            if not rest:
                raise ConfigError(f"--{kind} {name} should be given as {pattern}")
            return partial(factory, rest)
    found = _import(kind, name)
    base = _BASES[kind]
    if not _fits(kind, found):
        wanted = (
            "a function annotated to return a TaskStream" if base is None else f"a subclass of casper's {base.__name__}"
        )
        raise ConfigError(f"--{kind} {name} should be {wanted}; found {type(found).__name__}")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise ConfigError(f"--{kind} {name} should implement {missing}; it does not")
    return found  # type: ignore[no-any-return]


def _import(kind: Kind, name: str) -> Any:
    module_name, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # a user's module may fail in any way
        raise ConfigError(f"--{kind} {name}: module {module_name!r} cannot be imported: {error!r}") from error
    if not hasattr(module, attribute):
        fitting = [key for key, value in vars(module).items() if not key.startswith("_") and _fits(kind, value)]
        raise unknown(f"{kind} in module {module_name!r}", attribute, fitting)
    return getattr(module, attribute)


def _fits(kind: Kind, found: Any) -> bool:
    """Tell whether something may be used as this kind of thing.

    A stream's function must say that it makes one: a configuration file must not be able to call just anything.
    """
    base = _BASES[kind]
    return _is_subclass(found, TaskStream) or _makes_a_stream(found) if base is None else _is_subclass(found, base)


def _makes_a_stream(found: Any) -> bool:
    annotation = getattr(found, "__annotations__", {}).get("return") if inspect.isroutine(found) else None
    return _is_subclass(annotation, TaskStream) or (
        isinstance(annotation, str) and annotation.rpartition(".")[2] == TaskStream.__name__
    )


def _is_subclass(found: Any, base: type) -> bool:
    return inspect.isclass(found) and issubclass(found, base)


def describe(thing: Callable[..., Any]) -> str:
    """Take the first sentence of a docstring."""
    return explain(thing)[0]


def explain(thing: Callable[..., Any]) -> list[str]:
    """Take the paragraphs of a docstring but the arguments; formulas and lists keep their lines."""
    paragraphs = (inspect.getdoc(documented(thing)) or "").partition("\nArgs:")[0].strip().split("\n\n")
    return [text if text.startswith((" ", "-")) else text.replace("\n", " ") for text in paragraphs]
