"""What a run is a run of: which standard it follows, and in what it departs from it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from casper.config import PATTERNS, ConfigError, RunConfig, flattened, resolve_config
from casper.config.presets import PROTOCOLS, Protocol, usual_protocol
from casper.paper.tables import PAPER_TABLES, paper_table

# Neither sets two variants apart: the seed is what they are averaged over, and recalibration adds an evaluation.
_IGNORED = ("seed", "recalibrate")
_IDENTITY = ("stream", "method", "regularizer", "buffer_size")
# What is chosen for a method; every other option is chosen for a whole table.
_OF_THE_METHOD = ("lr", "milestones", "gamma")
_PREFIXES = {pattern.partition(":")[0] for patterns in PATTERNS.values() for pattern in patterns}


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
        method_changes: In what the method departs from its standard, as text.
        regularizer_changes: In what the regularizers do.
    """

    stream: str
    method: str
    regularizers: str
    buffer_size: int
    protocol: Protocol | None
    settings: str
    method_changes: str = ""
    regularizer_changes: str = ""

    @property
    def changes(self) -> str:
        """All departures from the standard."""
        return ", ".join(filter(None, (self.method_changes, self.regularizer_changes)))


def variant_of(layout: Mapping[str, Any]) -> Variant:
    """Find the standard that a run is nearest to, and name its departures.

    Args:
        layout: The run's configuration, in the layout of `config.yaml`.
    """
    flat = {key: value for key, value in flattened(layout).items() if key not in _IGNORED}
    protocol, of_table, departures = _nearest(json.dumps(flat, sort_keys=True))
    regularizers = tuple(f"{name}." for name in layout["regularizer"])
    of_regularizer = {key: value for key, value in departures.items() if key.startswith(regularizers)}
    of_method = {key: value for key, value in departures.items() if key not in of_regularizer}
    return Variant(
        layout["stream"],
        layout["method"],
        "+".join(layout["regularizer"]),
        layout["buffer_size"],
        protocol,
        settings_text(of_table),
        settings_text(_without_owners(of_method, flat)),
        settings_text(_without_owners(of_regularizer, flat)),
    )


def base_of(variant: Variant, others: Iterable[Variant]) -> Variant | None:
    """Find the plain method that a variant is compared with: all else is the same; None: it is not there."""
    if not variant.regularizers:
        return None
    same = (variant.method, variant.buffer_size, variant.method_changes)
    plain = (other for other in others if not other.regularizers)
    return next((other for other in plain if (other.method, other.buffer_size, other.method_changes) == same), None)


def settings_text(settings: Mapping[str, Any]) -> str:
    """Write settings down, in an order of their own: `batch_size=32, epochs=50`."""
    return ", ".join(f"{key}={json.dumps(value)}" for key, value in sorted(settings.items())).replace('"', "")


def settings_of(stream: str) -> list[Mapping[Protocol, Mapping[str, Any]]]:
    """List what the paper's tables have beside the protocols on a stream, without doubles; nothing comes first."""
    listed: list[Mapping[Protocol, Mapping[str, Any]]] = [{protocol: {} for protocol in PROTOCOLS}]
    for table in map(paper_table, PAPER_TABLES):
        for cell in table.cells:
            if cell.stream == stream and cell.settings not in listed:
                listed.append(cell.settings)
    return listed


def _without_owners(departures: Mapping[str, Any], flat: Mapping[str, Any]) -> dict[str, Any]:
    """Leave the owner's name away where no other part of the run has a setting of that name."""
    names = [key.rpartition(".")[2] for key in flat]
    short = {key: key.rpartition(".")[2] for key in departures}
    return {name if names.count(name) == 1 else key: departures[key] for key, name in short.items()}


@cache
def _nearest(flat: str) -> tuple[Protocol | None, Mapping[str, Any], Mapping[str, Any]]:
    """Find the standard with the fewest departures.

    Returns:
        Its protocol; what is set for the whole table beside it; what departs of the method and the regularizers, once
        that is given: a schedule that was fitted to another number of epochs is no departure of its own.
    """
    found: dict[str, Any] = json.loads(flat)
    stream = found["stream"]
    identity = {key: found[key] for key in _IDENTITY if key in found}
    # Into how many tasks images of one's own are cut has no standard.
    tasks = {"tasks": found["tasks"]} if ":" in str(stream) and "tasks" in found else {}
    candidates: list[tuple[Protocol | None, Mapping[str, Any]]] = [(None, tasks)]
    if usual_protocol(stream) is not None:
        candidates = [(protocol, own[protocol]) for protocol in PROTOCOLS for own in settings_of(stream)]
    best: tuple[dict[str, Any], Mapping[str, Any], dict[str, Any]] | None = None
    for protocol, own in candidates:
        given = {**identity, **({"protocol": protocol} if protocol else {})}
        departures = _departures(found, {**given, **own})
        if departures is not None and (best is None or len(departures) < len(best[2])):
            best = given, own, departures
    if best is None:  # parts of one's own, which are not imported here: every setting is told
        best = identity, {}, {key: value for key, value in found.items() if key not in _IDENTITY}
    given, own, departures = best
    owners = tuple(f"{name}." for name in (found["method"], *found["regularizer"]))
    of_table = {
        key: value for key, value in departures.items() if key not in _OF_THE_METHOD and not key.startswith(owners)
    }
    again = _departures(found, {**given, **own, **of_table})
    rest = {key: value for key, value in departures.items() if key not in of_table} if again is None else again
    return given.get("protocol"), {**own, **of_table}, rest


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


def telling_apart(configs: Sequence[RunConfig]) -> dict[str, str]:
    """Write by each run's name in which options it differs from those of nearly the same name.

    Where options differ, hyper-parameters that came with them go without saying: with another memory, other ones are
    published. Empty: no other run has nearly the same name.
    """
    alike: dict[str, list[RunConfig]] = {}
    for config in configs:
        alike.setdefault(config.name.rpartition("-")[0], []).append(config)
    texts = {}
    for group in alike.values():
        settings = [flattened(config.as_dict()) for config in group]
        keys = sorted({key for each in settings for key in each})
        differing = [key for key in keys if len({str(each.get(key)) for each in settings}) > 1]
        shown = [key for key in differing if "." not in key] or differing
        for config, each in zip(group, settings, strict=True):
            texts[config.name] = settings_text({key: each.get(key) for key in shown})
    return texts
