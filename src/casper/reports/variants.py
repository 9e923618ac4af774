"""The variant of a run: the protocol it follows, and the settings that differ from it."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from casper.config import KINDS, ConfigError, flattened, resolve_config
from casper.config.presets import PROTOCOLS, Protocol, usual_protocol
from casper.config.recorded import recorded_parts
from casper.config.registry import Find, custom_parts
from casper.config.stream_options import STREAM_ARGUMENTS
from casper.paper.tables import settings_of
from casper.reports.runs import FinishedRun

# Not part of a variant: results are averaged over seeds, and recalibration only adds an evaluation.
_IGNORED = ("seed", "recalibrate")
_IDENTITY = ("stream", "method", "regularizer", "buffer_size")
# Options chosen per method; every other option is chosen for a whole table.
_OF_THE_METHOD = ("lr", "milestones", "gamma")
_LONGEST = 60  # letters of a label


@dataclass(frozen=True)
class Variant:
    """The settings that all seeds of one cell share, formatted as `epochs=50`, sorted by name.

    Attributes:
        stream: The stream's name.
        method: The method's name; a user's class may be labelled by its own.
        regularizers: The regularizers' names, likewise, joined by `+`; empty for none.
        buffer_size: The memory's size; 0 if the method has none.
        protocol: The protocol that the run follows, if any.
        settings: The settings of the whole table besides the protocol.
        method_changes: The method's settings that differ from the standard.
        regularizer_changes: The regularizers' settings that differ from the standard.
    """

    stream: str
    method: str
    regularizers: str
    buffer_size: int
    protocol: Protocol | None
    settings: tuple[str, ...]
    method_changes: tuple[str, ...] = ()
    regularizer_changes: tuple[str, ...] = ()

    @property
    def changes(self) -> str:
        """All settings that differ from the standard, as text."""
        return ", ".join(self.method_changes + self.regularizer_changes)


def variants_of(runs: Sequence[FinishedRun]) -> list[Variant]:
    """Find the variant of every run.

    The user's classes have no standard: their settings count as differing where the given runs differ in them. They are
    labelled by the names that the runs recorded, unless a name is that of another part.
    """
    labels, varying = _labels(runs), _varying(runs)
    return [variant_of(run.layout, labels, varying) for run in runs]


def _labels(runs: Sequence[FinishedRun]) -> dict[str, str]:
    """Choose the labels of the user's classes: their names, where these are clear."""
    names: dict[str, set[str]] = {}
    for run in runs:
        for part, entry in run.user_code.items():
            names.setdefault(part, set()).update({entry["name"]} - {part})
    recorded = {part: several.pop() for part, several in names.items() if len(several) == 1}
    known = {name for parts in KINDS.values() for name in parts} | {"none"}
    return {
        part: name
        for part, name in recorded.items()
        if [*recorded.values()].count(name) == 1 and name not in known
        if name.isprintable() and name.strip() and "+" not in name and len(name) <= _LONGEST
    }


def _varying(runs: Sequence[FinishedRun]) -> frozenset[str]:
    """List the settings of the user's methods and regularizers in which runs with the same class differ."""
    found: dict[str, dict[str, str]] = {}
    for run in runs:
        for _, part in custom_parts({key: run.layout.get(key) for key in ("method", "regularizer")}):
            values = run.layout.get(part)
            for key, value in values.items() if isinstance(values, Mapping) else ():
                found.setdefault(f"{part}.{key}", {})[json.dumps(value, sort_keys=True)] = part
    return frozenset(key for key, values in found.items() if len(values) > 1)


def variant_of(
    layout: Mapping[str, Any], labels: Mapping[str, str] | None = None, varying: Collection[str] = ()
) -> Variant:
    """Find the standard that is closest to a run, and the settings that differ from it.

    The values decide, not their origins: two versions of the presets may give different values the same origin.

    Args:
        layout: The run's configuration, in the layout of `config.yaml`.
        labels: How to call the user's classes. Default: `package.module:Class`.
        varying: The settings of the user's classes that count as differing, by dotted key.
    """
    labels = labels or {}
    found = {key: value for key, value in flattened(layout).items() if key not in _IGNORED}
    plain = {key: value for key, value in layout.items() if key not in (*_IGNORED, "origin")}
    protocol, of_table, departures = _nearest(json.dumps(plain, sort_keys=True))
    departures = {**departures, **{key: found[key] for key in sorted(found.keys() & varying)}}
    # The owner's name is left out if no other part of the run has a setting of that name.
    names = [key.rpartition(".")[2] for key in found]
    of_method: dict[str, Any] = {}
    of_regularizer: dict[str, Any] = {}
    for key, value in departures.items():
        owner, _, name = key.rpartition(".")
        part = of_regularizer if owner in layout["regularizer"] else of_method
        if key in varying and owner == layout["method"]:  # named alike with and without regularizers
            part[f"{labels.get(owner, owner)}.{name}"] = value
        else:
            part[name if names.count(name) == 1 else key] = value
    return Variant(
        layout["stream"],
        labels.get(layout["method"], layout["method"]),
        "+".join(labels.get(name, name) for name in layout["regularizer"]),
        layout["buffer_size"],
        protocol,
        written(of_table),
        written(of_method),
        written(of_regularizer),
    )


def base_of(variant: Variant, others: Iterable[Variant]) -> Variant | None:
    """Find the plain method with otherwise equal settings; returns None if there is none."""
    if not variant.regularizers:
        return None
    same = (variant.method, variant.buffer_size, variant.method_changes)
    plain = (other for other in others if not other.regularizers)
    return next((other for other in plain if (other.method, other.buffer_size, other.method_changes) == same), None)


def written(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Format settings, sorted by name: `batch_size=32`, `epochs=50`."""
    return tuple(f"{key}={json.dumps(value)}".replace('"', "") for key, value in sorted(settings.items()))


@cache
def _nearest(layout: str) -> tuple[Protocol | None, Mapping[str, Any], Mapping[str, Any]]:
    """Find the standard with the fewest differing settings.

    Returns:
        Its protocol; the further settings of the whole table; the differing settings of method and regularizers.
    """
    content: dict[str, Any] = json.loads(layout)
    found = flattened(content)
    find = recorded_parts(content, all_defaults=True)
    stream = found["stream"]
    # The number of tasks has no standard for custom images, and a stream of the user's has none at all.
    without = ["tasks"] if ":" in stream else []
    if custom_parts({"stream": stream}):
        without = [*STREAM_ARGUMENTS.values(), *(key for key in found if key.startswith(f"{stream}."))]
    given = {key: found[key] for key in without if found.get(key) is not None}
    trunk = found.get("trunk") is not None
    candidates: list[tuple[Protocol | None, Mapping[str, Any]]] = [("pretrained" if trunk else None, given)]
    if usual_protocol(stream) is not None:
        fitting = [protocol for protocol in PROTOCOLS if (protocol == "pretrained") == trunk]
        candidates = [(protocol, each[protocol]) for protocol in fitting for each in settings_of(stream)]
    compared = [
        (protocol, settings, departures)
        for protocol, settings in candidates
        if (departures := _departures(found, protocol, settings, find)) is not None
    ]
    everything = {key: value for key, value in found.items() if key not in _IDENTITY}
    protocol, settings, departures = min(compared, key=lambda each: len(each[2]), default=(None, {}, everything))
    owners = tuple(f"{name}." for name in (found["method"], *found["regularizer"]))
    of_parts = {key: value for key, value in departures.items() if key in _OF_THE_METHOD or key.startswith(owners)}
    of_table = {**settings, **{key: value for key, value in departures.items() if key not in of_parts}}
    # Compared again with the settings of the table: a schedule that fits its number of epochs does not differ.
    again = _departures(found, protocol, of_table, find)
    return protocol, of_table, of_parts if again is None else again


def _departures(
    found: Mapping[str, Any], protocol: Protocol | None, settings: Mapping[str, Any], find: Find
) -> dict[str, Any] | None:
    """Compare a run with the standard of its stream, method, regularizers and buffer size; None if there is none."""
    given = {**{key: found[key] for key in _IDENTITY}, "regularizer": found["regularizer"] or ["none"], **settings}
    try:
        config = resolve_config({}, given if protocol is None else {**given, "protocol": protocol}, find=find)
    except ConfigError:  # unknown settings, or a name that was removed
        return None
    standard = flattened(config.as_dict())
    keys = (found.keys() | standard.keys()).difference(_IGNORED, _IDENTITY)
    return {key: found.get(key) for key in keys if found.get(key) != standard.get(key)}
