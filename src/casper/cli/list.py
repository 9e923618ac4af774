"""`casper list`: what there is to choose from."""

import json
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from casper.experiments import KINDS, PATTERNS, Kind, describe, hyper_parameters
from casper.experiments.errors import unknown

_PLURALS: dict[str, Kind] = {f"{kind}s": kind for kind in KINDS}


def list_names(
    kind: Annotated[str, typer.Argument(metavar="methods|regularizers|streams|backbones", help="What to list.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """List names, one line each, with hyper-parameters and their defaults.

    A hyper-parameter is set with `--set NAME.PARAMETER=VALUE` (for backbones `--set backbone.PARAMETER=VALUE`).
    Wherever a name is accepted, `package.module:Class` of your own is too.
    """
    if kind not in _PLURALS:
        raise unknown("kind", kind, _PLURALS)
    # The part of a pattern that the user fills in is no hyper-parameter.
    patterns = {name: partial(factory, "") for name, factory in PATTERNS[_PLURALS[kind]].items()}
    known: dict[str, Callable[..., Any]] = {**KINDS[_PLURALS[kind]], **patterns}
    if as_json:
        typer.echo(json.dumps({name: _as_json(name, known) for name in known}, indent=2))
        return
    table = Table(show_header=True, box=None, pad_edge=False)
    table.add_column(_PLURALS[kind], no_wrap=True)
    table.add_column("what it does")
    table.add_column("hyper-parameters")
    for name, thing in known.items():
        cells = (name, describe(thing), ", ".join(map(str, hyper_parameters(thing).values())) or "-")
        table.add_row(*map(escape, cells))
    Console().print(table)


def _as_json(name: str, known: object) -> dict[str, object]:
    thing = known[name]  # type: ignore[index]
    parameters = {
        parameter.name: {"required": True} if parameter.required else {"required": False, "default": parameter.default}
        for parameter in hyper_parameters(thing).values()
    }
    return {"description": describe(thing), "hyper_parameters": parameters}
