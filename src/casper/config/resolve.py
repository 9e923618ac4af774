"""Complete a configuration from the values that the user gave, files, presets and defaults."""

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
from casper.config.registry import KINDS, METHODS, Find, Kind, find_part
from casper.config.yaml import Preset, parse_yaml
from casper.formatting import printable

# The arguments of a stream's function, and the option that sets each.
STREAM_ARGUMENTS = {"num_tasks": "tasks", "class_order": "class_order", "image_size": "image_size"}


def fitted_to_stream(options: Options, given: set[str], find: Find = find_part) -> Options:
    """Fill in the defaults of the stream, and reset options that do not apply to it.

    Args:
        options: The options so far.
        given: The options that the user gave; it is an error if one of them does not apply.
        find: Looks up the class or function behind a name.

    Raises:
        ConfigError: For an option that is missing or does not apply.
    """
    factory = find("stream", options.stream)
    changes: dict[str, Any] = {}
    for argument, option in STREAM_ARGUMENTS.items():
        value = getattr(options, option)
        if not takes(factory, argument):
            if value is not None and option in given:
                raise ConfigError(f"{flag(option)} does not apply to --stream {options.stream}")
            changes[option] = None
        elif value is None:
            default = signature_of(factory).parameters[argument].default
            if default is inspect.Parameter.empty:
                raise ConfigError(f"{flag(option)} must be given with --stream {options.stream}")
            changes[option] = default
    return options.model_copy(update=changes)


def stream_arguments(options: Options, data_dir: str | None) -> dict[str, Any]:
    """Collect the arguments that the run passes to the stream's function."""
    factory = find_part("stream", options.stream)
    known = {argument: getattr(options, option) for argument, option in STREAM_ARGUMENTS.items()}
    known |= {"seed": options.seed, "data_dir": data_dir}
    return {argument: value for argument, value in known.items() if takes(factory, argument)}


_OPTIONS = frozenset(Options.model_fields)
_NEAREST = re.compile(r"nearest buffer \d+")


def parse_settings(settings: Sequence[str], option: str = "--set") -> dict[str, Any]:
    """Parse `key=value` settings; values are YAML: `1e-3`, `true`, `null`, `[1, 2]`, `text`.

    Args:
        settings: The settings.
        option: The command-line option they were given with, for error messages.

    Raises:
        ConfigError: If a setting is not of this form, or a key is given twice.

    Example:
        >>> from casper.config import parse_settings
        >>> parse_settings(["casper.weight=1e-3", "milestones=[35, 45]"])
        {'casper.weight': 0.001, 'milestones': [35, 45]}
    """
    parsed: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not key:
            raise ConfigError(f"{option} must be given as key=value, but got {brief(setting)}")
        try:
            new = parse_yaml(value)
        except yaml.YAMLError as error:
            raise ConfigError(f"{option} {key} must be a YAML value, but got {brief(value)}") from error
        if key in parsed:
            raise ConfigError(f"{printable(key)} must be given once, but got {brief(parsed[key])} and {brief(new)}")
        parsed[key] = new
    return parsed


def resolve_config(
    given: Mapping[str, Any],
    file: Mapping[str, Any] | None = None,
    preset_file: Preset | None = None,
    *,
    find: Find = find_part,
) -> RunConfig:
    """Complete a configuration from layers of values: the first layer that has a key sets its value.

    The layers are, in this order: the values that the user gave, the configuration file, the preset file, and the
    protocols and presets of the package. Defaults fill in the rest.

    Args:
        given: Values from flags and `--set`, by dotted key; the key `protocol` chooses the protocol.
        file: Values from a configuration file, by dotted key.
        preset_file: Values from a preset file, by dotted key, and their origin.
        find: Looks up the class or function behind a name. Default: the user's classes are imported.

    Raises:
        ConfigError: For a name, key or value that is not valid.

    Example:
        >>> from casper.config import resolve_config
        >>> config = resolve_config({"stream": "split-digits", "method": "der++", "epochs": 2})
        >>> config.options.epochs, config.options.buffer_size
        (2, 50)
        >>> config.origin["epochs"], config.origin["buffer_size"]
        ('user', 'preset split-digits, chosen here')
    """
    given, file = dict(given), dict(file or {})
    given_protocol = "protocol" in given
    preset_values, preset_origin = preset_file or ({}, "")
    preset_values = dict(preset_values)
    protocols = [layer.pop("protocol") for layer in (given, file, preset_values) if "protocol" in layer]
    layers = _Layers([(given, "user"), (file, "file"), (preset_values, preset_origin)])
    stream = layers.options().stream
    protocol = _protocol(protocols[0] if protocols else None, stream)
    _add_packaged(layers, stream, protocol, find)
    _add_stream_term(layers, file)

    given_options = {option for option in _OPTIONS if layers.origin(option) == "user"}
    options, notes = _fitted_to_method(fitted_to_stream(layers.options(), given_options, find), layers, find)
    owners: dict[str, tuple[Kind, str]] = {
        options.stream: ("stream", options.stream),
        options.method: ("method", options.method),
        **{name: ("regularizer", name) for name in options.regularizer},
        "backbone": ("backbone", options.backbone),
    }
    signatures = {owner: hyper_parameters(find(kind, name)) for owner, (kind, name) in owners.items()}
    layers.refuse_unknown(signatures)
    hyper = {
        owner: {name: layers.hyper_parameter(owner, parameter) for name, parameter in parameters.items()}
        for owner, parameters in signatures.items()
    }
    keys = [*options.model_fields_set, *(f"{owner}.{name}" for owner, names in hyper.items() for name in names)]
    origins = {key: layers.origin(key) for key in [*Options.model_fields, *keys]}
    if nearest := _NEAREST.search(" ".join(origins.values())):
        notes.append(f"there is no line for --buffer-size {options.buffer_size}: {nearest[0]} is taken")
    if given_protocol and protocol is not None and not protocol_values(protocol, stream):
        notes.append(f"--protocol {protocol} has no effect: it has no settings for {stream}, whose preset is used")
    return RunConfig(options, hyper, origins, tuple(notes))


def _protocol(given: Any, stream: str) -> Protocol | None:
    if given is None:
        return usual_protocol(stream)
    if given not in PROTOCOLS:
        raise unknown("protocol", given, PROTOCOLS)
    return given  # type: ignore[no-any-return]


def _add_packaged(layers: "_Layers", stream: str, protocol: Protocol | None, find: Find) -> None:
    """Add the package's settings for a stream, in order of precedence, adapted to the values chosen already."""
    layers.add(*unpublished_values(stream, layers.options().method))
    if protocol is not None:
        layers.add(protocol_values(protocol, stream), f"protocol {protocol}")
    options = layers.options()
    method: Any = find("method", options.method)
    buffer_size = options.buffer_size if method.keeps_memory else None
    layers.add(*paper_values(stream, options.method, options.regularizer, buffer_size))
    of_stream = preset(stream, options.method)
    for values, origin in of_stream or (preset("any", options.method) if protocol != "paper" else []):
        layers.add(values, origin)


def _add_stream_term(layers: "_Layers", file: Mapping[str, Any]) -> None:
    """Write the reading of CaSpeR's term of the stream batch into the configuration if labels are hidden.

    A recorded configuration lists every hyper-parameter. Without this choice it is of an earlier version, and means the
    reading that was the only one then.
    """
    options = layers.options()
    hidden = options.labels is not None or options.labels_per_class is not None
    earlier = "casper.stream_always" in file and "casper.stream_gap" not in file
    if hidden and "casper" in options.regularizer and not earlier:
        chosen = {"casper.stream_gap": "asked", "casper.stream_neighbors": "classes"}
        layers.add(chosen, "the authors' development code")


def _fitted_to_method(options: Options, layers: "_Layers", find: Find) -> tuple[Options, list[str]]:
    """Reset options that do not apply to the method, with a note; raise an error if the user requested them."""
    method: Any = find("method", options.method)
    names, notes, changes = options.regularizer, [], {}
    if "none" in names and len(names) > 1:
        raise ConfigError(f"--regularizer none must be the only one, but got {', '.join(names)}")
    if len(set(names)) < len(names):
        raise ConfigError(f"--regularizer must name each regularizer once, but got {', '.join(names)}")
    if names == ["none"]:
        changes["regularizer"] = names = []
    _check_labels(options, method)
    if not method.keeps_memory:
        regularizers: dict[str, Any] = {name: find("regularizer", name) for name in names}
        for name in [name for name, regularizer in regularizers.items() if regularizer.needs_memory]:
            if layers.origin("regularizer") != "default":
                raise ConfigError(
                    f"--regularizer {name} needs a memory, but --method {options.method} has none; "
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
    """Raise an error if hidden labels are requested twice, or with a method that cannot use unlabelled images."""
    if options.labels is not None and options.labels_per_class is not None:
        hint = "leave one out, or unset that of a file with --set labels=null or --set labels_per_class=null"
        raise ConfigError(f"--labels and --labels-per-class must not both be given; {hint}")
    if options.labels is None and options.labels_per_class is None:
        return
    if not method.takes_unlabelled:
        able = [name for name, known in METHODS.items() if known.takes_unlabelled]
        option = "--labels" if options.labels is not None else "--labels-per-class"
        wanted = f"a method that uses unlabelled images ({', '.join(able)})"
        raise ConfigError(f"{option} needs {wanted}, but got {options.method}")


class _Layers:
    """Layers of values by dotted key, in order of precedence."""

    def __init__(self, layers: Sequence[tuple[Mapping[str, Any], str]]) -> None:
        self._layers: list[tuple[Mapping[str, Any], str]] = []
        for values, origin in layers:
            self._layers.append((self._of_chosen_backbone(values), origin))

    def add(self, values: Mapping[str, Any], origin: str) -> None:
        """Add a layer of lower precedence, adapted to the values of the layers before it."""
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
        """Add the adapted values as a separate layer, whose origin says so; returns the other values."""
        changed = {key: value for key, value in fitted.items() if value != values[key]}
        if changed:
            published = origin.startswith("paper")
            self._layers.append((changed, f"{'not published, ' if published else ''}{origin}, fitted to {to}"))
        return {key: value for key, value in values.items() if key not in changed}

    def _of_chosen_backbone(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Leave out the hyper-parameters of a backbone if a layer of higher precedence has chosen another one."""
        stronger = [layer["backbone"] for layer, _ in self._layers if "backbone" in layer]
        if not stronger or values.get("backbone", stronger[0]) == stronger[0]:
            return values
        return {key: value for key, value in values.items() if not key.startswith("backbone.")}

    def origin(self, key: str) -> str:
        return next((origin for values, origin in self._layers if key in values), "default")

    def _value(self, key: str) -> Any:
        """Look up a value. Returns None if no layer has it."""
        return next((values[key] for values, _ in self._layers if key in values), None)

    def options(self) -> Options:
        """Merge the options of all layers; an option that no layer has takes its default."""
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
            raise ConfigError(f"{key} must be given; this stream has no preset for it, use --set {key}=VALUE")
        return list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default

    def refuse_unknown(self, signatures: Mapping[str, Mapping[str, Any]]) -> None:
        """Raise an error for unknown keys; a file may contain keys of parts that are not in this run."""
        valid = {*_OPTIONS, *(f"{owner}.{name}" for owner, names in signatures.items() for name in names)}
        elsewhere = {name for names in KINDS.values() for name in names} - signatures.keys()
        for values, origin in self._layers:
            for key in values:
                owner = key.rpartition(".")[0]
                absent = owner in elsewhere or (":" in owner and owner not in signatures)
                if key not in valid and (origin == "user" or not absent):
                    raise _not_in_this_run(key, owner) if owner in elsewhere else unknown("key", key, valid)


def _not_in_this_run(key: str, owner: str) -> ConfigError:
    kind = next(kind for kind, names in KINDS.items() if owner in names)
    return ConfigError(f"{key} needs --{kind} {owner}, which is not in this run")
