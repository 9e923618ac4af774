"""`casper list`: list the available methods, regularizers, streams, backbones and trunks."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from casper.cli.console import say, show
from casper.config import (
    KINDS,
    PATTERNS,
    HyperParameter,
    Kind,
    describe,
    explain,
    find_part,
    hyper_parameters,
    meanings,
)
from casper.config.errors import unknown
from casper.config.presets import packaged

_PLURALS: dict[str, Kind] = {f"{kind}s": kind for kind in KINDS}


def list_names(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="What to list: methods, regularizers, streams, backbones or trunks.")
    ],
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One of them, to explain its hyper-parameters.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the available methods, regularizers, streams, backbones or trunks, with their hyper-parameters and defaults.

    - `casper list methods`

    - `casper list regularizers casper`: explain one of them

    - `casper list methods package.module:Class`: or one of yours

    Defaults marked (preset) depend on the stream and the method; the config.yaml of a run lists its values.

    Set a hyper-parameter with `--set NAME.PARAMETER=VALUE`, of a backbone with `--set backbone.PARAMETER=VALUE`, of a
    trunk with `--set trunk.PARAMETER=VALUE`.
    Wherever a name is accepted, a class of yours is accepted as `package.module:Class`.
    """
    if kind not in _PLURALS:
        raise unknown("kind", kind, _PLURALS)
    # The part of a pattern that the user fills in is not a hyper-parameter.
    patterns = {name: partial(factory, "") for name, factory in PATTERNS[_PLURALS[kind]].items()}
    known: dict[str, Callable[..., Any]] = {**KINDS[_PLURALS[kind]], **patterns}
    if name is not None and name not in known:
        known[name] = find_part(_PLURALS[kind], name)
    chosen = known if name is None else {name: known[name]}
    if as_json:
        say(json.dumps({each: _as_json(thing) for each, thing in chosen.items()}, indent=2))
    elif name is None:
        _show_all(_PLURALS[kind], known)
    else:
        _show_one(name, known[name])


def _show_all(kind: str, known: Mapping[str, Callable[..., Any]]) -> None:
    table = Table(show_header=True, box=None, pad_edge=False)
    table.add_column(kind, no_wrap=True)
    table.add_column("what it does")
    table.add_column("hyper-parameters")
    for name, thing in known.items():
        shown = [
            f"{each.name} {_default(name, each)}" if each.required else f"{each}"
            for each in hyper_parameters(thing).values()
        ]
        cells = (name, describe(thing), ", ".join(shown) or "-")
        table.add_row(*cells)
    show(table)


def _show_one(name: str, thing: Callable[..., Any]) -> None:
    """Print the whole docstring, and a line for each hyper-parameter."""
    for paragraph in explain(thing):
        show(Text(paragraph + "\n"))
    table = Table(box=None, pad_edge=False)
    table.add_column("hyper-parameter", no_wrap=True)
    table.add_column("default", no_wrap=True)
    table.add_column("what it means")
    texts = meanings(thing)
    for parameter in hyper_parameters(thing).values():
        cells = (parameter.name, _default(name, parameter), texts.get(parameter.name, ""))
        table.add_row(*cells)
    if table.row_count:
        show(table)


def _default(owner: str, parameter: HyperParameter) -> str:
    """Return the default of a hyper-parameter, or who sets it: for every stream a preset, or the user.

    A default of None is a dash: the description says what it means.
    """
    if not parameter.required:
        return "-" if parameter.default is None else str(parameter.default)
    return "(preset)" if parameter.name in packaged("presets.yaml")["any"].get(owner, {}) else "(required)"


def _as_json(thing: Callable[..., Any]) -> dict[str, object]:
    texts, parameters = meanings(thing), {}
    for parameter in hyper_parameters(thing).values():
        default = {"required": True} if parameter.required else {"required": False, "default": parameter.default}
        parameters[parameter.name] = {**default, "meaning": texts.get(parameter.name, "")}
    return {"description": describe(thing), "hyper_parameters": parameters}
