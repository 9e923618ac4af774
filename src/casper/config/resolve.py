"""From what the user gave to a complete configuration."""

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from pydantic import ValidationError

from casper.config.errors import ConfigError, brief, flag, unknown
from casper.config.options import Options, RunConfig
from casper.config.parameters import HyperParameter, hyper_parameters, in_words, signature_of, takes, validated
from casper.config.presets import (
    PROTOCOLS,
    Protocol,
    fitted_to_batch,
    fitted_to_epochs,
    paper_values,
    preset,
    protocol_values,
    unpublished_values,
    usual_protocol,
)
from casper.config.registry import KINDS, METHODS, Kind, find_part
from casper.config.yaml import Preset, parse_yaml

# The argument of a stream's function, and the option that sets it.
STREAM_ARGUMENTS = {"num_tasks": "tasks", "class_order": "class_order", "image_size": "image_size"}


def fitted_to_stream(options: Options, asked: set[str]) -> Options:
    """Fill in the stream's own defaults, and leave out what it has no use for.

    Args:
        options: What was chosen so far.
        asked: The options that the user gave; one of them that the stream cannot follow is refused.

    Raises:
        ConfigError: For an option that is missing or does not apply.
    """
    factory = find_part("stream", options.stream)
    changes: dict[str, Any] = {}
    for argument, option in STREAM_ARGUMENTS.items():
        value = getattr(options, option)
        if not takes(factory, argument):
            if value is not None and option in asked:
                raise ConfigError(f"{flag(option)} does not apply to --stream {options.stream}")
            changes[option] = None
        elif value is None:
            default = signature_of(factory).parameters[argument].default
            if default is inspect.Parameter.empty:
                raise ConfigError(f"{flag(option)} must be given with --stream {options.stream}, but got none")
            changes[option] = default
    return options.model_copy(update=changes)


def stream_arguments(options: Options, data_dir: str | None) -> dict[str, Any]:
    """Gather what the run itself passes to the stream's function."""
    factory = find_part("stream", options.stream)
    known = {argument: getattr(options, option) for argument, option in STREAM_ARGUMENTS.items()}
    known |= {"seed": options.seed, "data_dir": data_dir}
    return {argument: value for argument, value in known.items() if takes(factory, argument)}


_OPTIONS = frozenset(Options.model_fields)
_NEAREST = re.compile(r"nearest buffer \d+")


def parse_settings(settings: Sequence[str], option: str = "--set") -> dict[str, Any]:
    """Read `key=value` settings, given with an option; values are YAML: `1e-3`, `true`, `null`, `[1, 2]`, `text`."""
    parsed = {}
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not key:
            raise ConfigError(f"{option} must be given as key=value, but got {brief(setting)}")
        try:
            parsed[key] = parse_yaml(value)
        except yaml.YAMLError as error:
            raise ConfigError(f"{option} {key} must be a YAML value, but got {brief(value)}") from error
    return parsed


def resolve_config(
    given: Mapping[str, Any], file: Mapping[str, Any] | None = None, preset_file: Preset | None = None
) -> RunConfig:
    """Complete a configuration: what the user gave, then the file, a preset of the user's own, and what is packaged.

    Args:
        given: Values from flags and `--set`, by dotted key; `protocol` among them chooses the protocol.
        file: Values from a configuration file, by dotted key.
        preset_file: Values from a preset file, by dotted key, and their origin.

    Raises:
        ConfigError: For a name, key or value that is not valid.
    """
    given, file = dict(given), dict(file or {})
    own, own_origin = preset_file or ({}, "")
    own = dict(own)
    asked_protocols = [layer.pop("protocol") for layer in (given, file, own) if "protocol" in layer]
    asked_protocol = asked_protocols[0] if asked_protocols else None
    layers = _Layers([(given, "user"), (file, "file"), (own, own_origin)])
    stream = layers.options().stream
    _add_packaged(layers, stream, _protocol(asked_protocol, stream))

    asked = {option for option in _OPTIONS if layers.origin(option) == "user"}
    options, notes = _fitted_to_method(fitted_to_stream(layers.options(), asked), layers)
    owners: dict[str, tuple[Kind, str]] = {
        options.stream: ("stream", options.stream),
        options.method: ("method", options.method),
        **{name: ("regularizer", name) for name in options.regularizer},
        "backbone": ("backbone", options.backbone),
    }
    signatures = {owner: hyper_parameters(find_part(kind, name)) for owner, (kind, name) in owners.items()}
    layers.refuse_unknown(signatures)
    hyper = {
        owner: {name: layers.hyper_parameter(owner, parameter) for name, parameter in parameters.items()}
        for owner, parameters in signatures.items()
    }
    keys = [*options.model_fields_set, *(f"{owner}.{name}" for owner, names in hyper.items() for name in names)]
    origins = {key: layers.origin(key) for key in [*Options.model_fields, *keys]}
    if nearest := _NEAREST.search(" ".join(origins.values())):
        notes.append(f"there is no line for --buffer-size {options.buffer_size}: {nearest[0]} is taken")
    return RunConfig(options, hyper, origins, tuple(notes))


def _protocol(asked: Any, stream: str) -> Protocol | None:
    if asked is None:
        return usual_protocol(stream)
    if asked not in PROTOCOLS:
        raise unknown("protocol", asked, PROTOCOLS)
    return asked  # type: ignore[no-any-return]


def _add_packaged(layers: "_Layers", stream: str, protocol: Protocol | None) -> None:
    """Add what the package knows of a stream, the stronger first, fitted to what is chosen already."""
    layers.add(*unpublished_values(stream, layers.options().method))
    if protocol is not None:
        layers.add(protocol_values(protocol, stream), f"protocol {protocol}")
    options = layers.options()
    method: Any = find_part("method", options.method)
    buffer_size = options.buffer_size if method.keeps_memory else None
    layers.add(*paper_values(stream, options.method, options.regularizer, buffer_size))
    own = preset(stream, options.method)
    for values, origin in own or (preset("any", options.method) if protocol != "paper" else []):
        layers.add(values, origin)


def _fitted_to_method(options: Options, layers: "_Layers") -> tuple[Options, list[str]]:
    """Leave out what the method has no use for, and say so; refuse it where the user asked for it."""
    method: Any = find_part("method", options.method)
    names, notes, changes = options.regularizer, [], {}
    if "none" in names and len(names) > 1:
        raise ConfigError(f"--regularizer none must stand alone, but got {', '.join(names)}")
    if len(set(names)) < len(names):
        raise ConfigError(f"--regularizer must name each regularizer once, but got {', '.join(names)}")
    if names == ["none"]:
        changes["regularizer"] = names = []
    _check_labels(options, method)
    if not method.keeps_memory:
        regularizers: dict[str, Any] = {name: find_part("regularizer", name) for name in names}
        for name in [name for name, regularizer in regularizers.items() if regularizer.needs_memory]:
            if layers.origin("regularizer") != "default":
                raise ConfigError(
                    f"--regularizer {name} needs a memory, and --method {options.method} keeps none; "
                    "use --regularizer none"
                )
            notes.append(f"without {name}, the default regularizer: {options.method} keeps no memory")
            changes["regularizer"] = []
        if layers.origin("buffer_size") == "user":
            notes.append(f"--buffer-size has no effect: {options.method} keeps no memory")
        changes["buffer_size"] = 0  # type: ignore[assignment]
        if options.recalibrate:
            notes.append(f"--recalibrate has no effect: {options.method} keeps no memory")
    return options.model_copy(update=changes), notes


def _check_labels(options: Options, method: Any) -> None:
    """Refuse hidden labels that are asked for twice, or from a method that has no use for them."""
    if options.labels is not None and options.labels_per_class is not None:
        back = "--set labels=null, or labels_per_class=null, takes one back"
        raise ConfigError(f"--labels and --labels-per-class must not be given both, but got both ({back})")
    if options.labels is None and options.labels_per_class is None:
        return
    if not method.takes_unlabelled:
        able = [name for name, known in METHODS.items() if known.takes_unlabelled]
        option = "--labels" if options.labels is not None else "--labels-per-class"
        wanted = f"a method for hidden labels ({', '.join(able)})"
        raise ConfigError(f"{option} must go with {wanted}, but got {options.method}")


class _Layers:
    """Values by dotted key in layers, the stronger first."""

    def __init__(self, layers: Sequence[tuple[Mapping[str, Any], str]]) -> None:
        self._layers: list[tuple[Mapping[str, Any], str]] = []
        for values, origin in layers:
            self._layers.append((self._of_chosen_backbone(values), origin))

    def add(self, values: Mapping[str, Any], origin: str) -> None:
        """Add a weaker layer of the package, fitted to what stronger ones have chosen."""
        chosen = self.options()
        fitted = self._of_chosen_backbone(values)
        if self.origin("batch_size") != "default":
            to_batch = fitted_to_batch(fitted, chosen.batch_size, self._value("casper.num_neighbors"))
            fitted = self._add_fitted(fitted, to_batch, origin, "batch size")
        if self.origin("epochs") != "default":
            fitted = self._add_fitted(fitted, fitted_to_epochs(fitted, chosen.epochs), origin, "epochs")
        self._layers.append((fitted, origin))

    def _add_fitted(
        self, values: Mapping[str, Any], fitted: Mapping[str, Any], origin: str, to: str
    ) -> Mapping[str, Any]:
        """Put what was changed into a layer of its own, which says so; returns the rest."""
        changed = {key: value for key, value in fitted.items() if value != values[key]}
        if changed:
            published = origin.startswith("paper")
            self._layers.append((changed, f"{'not published, ' if published else ''}{origin}, fitted to {to}"))
        return {key: value for key, value in values.items() if key not in changed}

    def _of_chosen_backbone(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Leave out the hyper-parameters of a backbone where a stronger layer has chosen another."""
        stronger = [layer["backbone"] for layer, _ in self._layers if "backbone" in layer]
        if not stronger or values.get("backbone", stronger[0]) == stronger[0]:
            return values
        return {key: value for key, value in values.items() if not key.startswith("backbone.")}

    def origin(self, key: str) -> str:
        return next((origin for values, origin in self._layers if key in values), "default")

    def _value(self, key: str) -> Any:
        """Look a value up; None: no layer has it."""
        return next((values[key] for values, _ in self._layers if key in values), None)

    def options(self) -> Options:
        """Join the layers' options; whatever no layer has takes its default."""
        joined: dict[str, Any] = {}
        for values, _ in reversed(self._layers):
            joined.update({key: value for key, value in values.items() if key in _OPTIONS})
        if isinstance(joined.get("regularizer"), str):
            joined["regularizer"] = [joined["regularizer"]]
        try:
            return Options(**joined)
        except ValidationError as error:
            raise ConfigError(f"{flag(str(error.errors()[0]['loc'][0]))} {in_words(error)}") from error

    def hyper_parameter(self, owner: str, parameter: HyperParameter) -> Any:
        key = f"{owner}.{parameter.name}"
        for values, _ in self._layers:
            if key in values:
                return validated(key, parameter.annotation, values[key])
        if parameter.required:
            raise ConfigError(f"{key} must be given, as --set {key}=VALUE; this stream has no preset for it")
        return list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default

    def refuse_unknown(self, signatures: Mapping[str, Mapping[str, Any]]) -> None:
        """Complain about keys that mean nothing here; a file may carry those of parts that are not in this run."""
        valid = {*_OPTIONS, *(f"{owner}.{name}" for owner, names in signatures.items() for name in names)}
        elsewhere = {name for names in KINDS.values() for name in names} - signatures.keys()
        for values, origin in self._layers:
            for key in values:
                owner = key.rpartition(".")[0]
                absent = owner in elsewhere or (":" in owner and owner not in signatures)
                if key not in valid and (origin == "user" or not absent):
                    raise unknown("key", key, valid)
