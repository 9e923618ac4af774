"""What a run is a run of: which standard it follows, and in what it departs from it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from casper.experiments import PATTERNS, ConfigError, flattened, resolve_config
from casper.experiments.paper_tables import PAPER_TABLES, PaperCell, paper_table
from casper.experiments.protocols import PROTOCOLS, Protocol, usual_protocol

# Neither sets two variants apart: the seed is what they are averaged over, and recalibration adds an evaluation.
_IGNORED = ("seed", "recalibrate")
_PREFIXES = {pattern.partition(":")[0] for patterns in PATTERNS.values() for pattern in patterns}
_IDENTITY = ("stream", "method", "regularizer", "buffer_size")
# What is chosen for a method; every other option is chosen for a whole table.
_OF_THE_METHOD = ("lr", "milestones", "gamma")


@dataclass(frozen=True)
class Variant:
    """What all seeds of one cell share.

    Attributes:
        stream: The stream's name.
        method: The method's name.
        regularizers: The regularizers' names, joined by `+`; empty: none.
        buffer_size: The memory's size; 0: the method keeps none.
        protocol: The protocol that the run follows, if any.
        settings: What the whole table has beside it, as text: `epochs=50, batch_size=32`.
        changes: In what the method or a regularizer departs from its standard, as text.
    """

    stream: str
    method: str
    regularizers: str
    buffer_size: int
    protocol: Protocol | None
    settings: str
    changes: str


def variant_of(layout: Mapping[str, Any]) -> Variant:
    """Find the standard that a run is nearest to, and name its departures.

    Args:
        layout: The run's configuration, in the layout of `config.yaml`.
    """
    flat = {key: value for key, value in flattened(layout).items() if key not in _IGNORED}
    protocol, own, departures = _nearest(json.dumps(flat, sort_keys=True))
    method, regularizers = layout["method"], layout["regularizer"]
    owners = (method, *regularizers)
    of_method = {
        key: value
        for key, value in departures.items()
        if key in _OF_THE_METHOD or any(key.startswith(f"{owner}.") for owner in owners)
    }
    of_table = {**own, **{key: value for key, value in departures.items() if key not in of_method}}
    return Variant(
        layout["stream"],
        method,
        "+".join(regularizers),
        layout["buffer_size"],
        protocol,
        _text(of_table),
        _text({key.rpartition(".")[2] if len(owners) == 2 else key: value for key, value in of_method.items()}),
    )


def paper_figure(variant: Variant, path: str) -> float | None:
    """Find what the paper prints for a variant: the first of its tables that has it; None: none has.

    Args:
        variant: The variant; one that departs from the standard has no counterpart there.
        path: The figure's dotted path in `metrics.json`.
    """
    if variant.changes or variant.protocol is None:
        return None
    for table in map(paper_table, PAPER_TABLES):
        names = [name for name, place in table.measures.items() if place == path]
        for cell in table.cells:
            if names and _is_cell_of(cell, variant):
                return cell.figures.get(names[0])
    return None


def base_of(variant: Variant, values: Iterable[Variant]) -> Variant | None:
    """Find the plain method that a variant is compared with."""
    if not variant.regularizers:
        return None
    plain = [other for other in values if not other.regularizers and other.method == variant.method]
    fitting = [other for other in plain if other.buffer_size == variant.buffer_size]
    return next((other for other in fitting if not other.changes), fitting[0] if fitting else None)


def _is_cell_of(cell: PaperCell, variant: Variant) -> bool:
    return (
        (cell.stream, cell.method, cell.buffer_size or 0) == (variant.stream, variant.method, variant.buffer_size)
        and cell.regularizer == (variant.regularizers or "none")
        and variant.protocol is not None
        and _text(cell.settings[variant.protocol]) == variant.settings
    )


@cache
def _nearest(flat: str) -> tuple[Protocol | None, Mapping[str, Any], Mapping[str, Any]]:
    """Find the standard with the fewest departures: its protocol, what a table of the paper adds, the departures."""
    found: dict[str, Any] = json.loads(flat)
    stream = found["stream"]
    identity = {key: found[key] for key in _IDENTITY if key in found}
    # Into how many tasks images of one's own are cut has no standard.
    tasks = {"tasks": found["tasks"]} if ":" in str(stream) and "tasks" in found else {}
    candidates: list[tuple[Protocol | None, Mapping[str, Any]]] = [(None, tasks)]
    if usual_protocol(stream) is not None:
        candidates = [(protocol, own) for protocol in PROTOCOLS for own in _settings_of(stream, protocol)]
    best: tuple[Protocol | None, Mapping[str, Any], dict[str, Any]] | None = None
    for protocol, own in candidates:
        departures = _departures(found, {**identity, **own, **({"protocol": protocol} if protocol else {})})
        if departures is not None and (best is None or len(departures) < len(best[2])):
            best = protocol, own, departures
    # Without a standard (parts of one's own, which are not imported here) every setting is told.
    return best or (None, {}, {key: value for key, value in found.items() if key not in _IDENTITY})


def _settings_of(stream: str, protocol: Protocol) -> list[Mapping[str, Any]]:
    """List what the paper's tables have beside a protocol on a stream, without doubles; nothing comes first."""
    listed: list[Mapping[str, Any]] = [{}]
    for table in map(paper_table, PAPER_TABLES):
        for cell in table.cells:
            if cell.stream == stream and cell.settings[protocol] not in listed:
                listed.append(cell.settings[protocol])
    return listed


def _departures(found: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Name in what a run departs from the standard for its stream, method, regularizers and buffer size."""
    names = [given["stream"], given["method"], *given["regularizer"], found.get("backbone", "")]
    if any(":" in str(name) and str(name).partition(":")[0] not in _PREFIXES for name in names):
        return None
    try:
        standard = flattened(resolve_config({}, {**given, "regularizer": given["regularizer"] or ["none"]}).as_dict())
    except ConfigError:  # settings that this version does not know, or a name that is gone
        return None
    keys = [key for key in {**standard, **found} if key not in (*_IGNORED, *_IDENTITY)]
    return {key: found.get(key) for key in keys if found.get(key) != standard.get(key)}


def _text(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={json.dumps(value)}" for key, value in sorted(settings.items())).replace('"', "")
