"""Complete a configuration from the values that the user gave, files, presets and defaults."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from pydantic import ValidationError

from casper.config.errors import ConfigError, brief, flag, unknown
from casper.config.memory_size import items_within
from casper.config.options import Options, RunConfig
from casper.config.parameters import HyperParameter, documented, hyper_parameters, in_words, validated
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
from casper.config.stream_options import fitted_to_stream
from casper.config.yaml import Preset, parse_yaml
from casper.formatting import printable

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
    data_dir: str | None = None,
) -> RunConfig:
    """Complete a configuration from layers of values: the first layer that has a key sets its value.

    The layers are, in this order: the values that the user gave, the configuration file, the preset file, and the
    protocols and presets of the package. Defaults fill in the rest.

    A buffer size such as `64MB` is converted to a number of items. For this the stream is built, since the size of an
    item depends on it.

    Args:
        given: Values from flags and `--set`, by dotted key; the key `protocol` chooses the protocol.
        file: Values from a configuration file, by dotted key.
        preset_file: Values from a preset file, by dotted key, and their origin.
        find: Looks up the class or function behind a name. Default: the user's classes are imported.
        data_dir: The directory to search for data sets first, to convert a size of the memory.

    Raises:
        ConfigError: For a name, key or value that is not valid.
        DataError: If the stream's images are not available, to convert a size of the memory.

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
    notes: list[str] = []
    sized = next((layer for layer in (given, file, preset_values) if "buffer_size" in layer), {})
    if isinstance(size := sized.get("buffer_size"), str):
        sized["buffer_size"] = 1
        some = resolve_config(given, file, (preset_values, preset_origin), find=find)
        sized["buffer_size"], note = items_within(size, some, data_dir, find)
        notes += [note] if note else []
    protocols = [layer.pop("protocol") for layer in (given, file, preset_values) if "protocol" in layer]
    layers = _Layers([(given, "user"), (file, "file"), (preset_values, preset_origin)])
    stream, trunk = layers.options().stream, layers.options().trunk
    protocol = _protocol(protocols[0] if protocols else None, stream, trunk)
    if protocol == "pretrained" and trunk is None and layers.origin("trunk") != "default":
        raise ConfigError("--protocol pretrained needs a trunk, but got trunk: null; give --trunk NAME")
    if trunk is not None or protocol == "pretrained":
        layers.add({"backbone": "adapter"}, "the backbone for a trunk")
    _add_packaged(layers, stream, protocol, find)
    _add_stream_term(layers, file)

    given_options = {option for option in _OPTIONS if layers.origin(option) == "user"}
    options, more = _fitted_to_method(fitted_to_stream(layers.options(), given_options, find), layers, find)
    notes += more
    _check_trunk(options, find)
    owners: dict[str, tuple[Kind, str]] = {
        options.stream: ("stream", options.stream),
        options.method: ("method", options.method),
        **{name: ("regularizer", name) for name in options.regularizer},
        "backbone": ("backbone", options.backbone),
        **({"trunk": ("trunk", options.trunk)} if options.trunk is not None else {}),
    }
    signatures = {owner: hyper_parameters(find(kind, name)) for owner, (kind, name) in owners.items()}
    layers.refuse_unknown(signatures)
    hyper = {
        owner: {name: layers.hyper_parameter(owner, parameter) for name, parameter in parameters.items()}
        for owner, parameters in signatures.items()
    }
    keys = [*options.model_fields_set, *(f"{owner}.{name}" for owner, names in hyper.items() for name in names)]
    origins = {key: layers.origin(key) for key in [*Options.model_fields, *keys]}
    if isinstance(size, str):  # reports find the runs of a size by this text
        origins["buffer_size"] += f", {size}"
    if nearest := _NEAREST.search(" ".join(origins.values())):
        notes.append(f"there is no line for --buffer-size {options.buffer_size}: {nearest[0]} is taken")
    if given_protocol and protocol is not None and not protocol_values(protocol, stream, options.method):
        notes.append(f"--protocol {protocol} has no effect: it has no settings for {stream}, whose preset is used")
    return RunConfig(options, hyper, origins, tuple(notes))


def _protocol(given: Any, stream: str, trunk: str | None) -> Protocol | None:
    if given is None:
        return "pretrained" if trunk is not None else usual_protocol(stream)
    if given not in PROTOCOLS:
        raise unknown("protocol", given, PROTOCOLS)
    return given  # type: ignore[no-any-return]


def _add_packaged(layers: "_Layers", stream: str, protocol: Protocol | None, find: Find) -> None:
    """Add the package's settings for a stream, in order of precedence, adapted to the values chosen already."""
    layers.add(*unpublished_values(stream, layers.options().method))
    if protocol is not None:
        layers.add(protocol_values(protocol, stream, layers.options().method), f"protocol {protocol}")
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


def _check_trunk(options: Options, find: Find) -> None:
    """Raise an error if the method or the backbone needs images, and a trunk takes their place."""
    if options.trunk is None:
        return
    method: Any = find("method", options.method)
    backbone: Any = find("backbone", options.backbone)
    vectors = f"--trunk {options.trunk} provides feature vectors"
    if getattr(method, "needs_images", False) or getattr(method, "needs_maps", False):
        needs = "images, which it augments" if getattr(method, "needs_images", False) else "maps of a network's stages"
        raise ConfigError(f"--method {options.method} needs {needs}, but {vectors}; leave out the trunk")
    if not getattr(documented(backbone), "takes_vectors", True):
        raise ConfigError(f"--backbone {options.backbone} needs images, but {vectors}; use adapter or mlp")


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
            self._layers.append((self._of_chosen_parts(values), origin))

    def add(self, values: Mapping[str, Any], origin: str) -> None:
        """Add a layer of lower precedence, adapted to the values of the layers before it."""
        chosen = self.options()
        fitted = self._of_chosen_parts(values)
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

    def _of_chosen_parts(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Leave out the hyper-parameters of a network if a layer of higher precedence has chosen another one."""
        for part in ("backbone", "trunk"):
            stronger = [layer[part] for layer, _ in self._layers if part in layer]
            if stronger and values.get(part, stronger[0]) != stronger[0]:
                values = {key: value for key, value in values.items() if not key.startswith(f"{part}.")}
        return values

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
                if owner == "trunk" and "trunk" not in signatures:
                    raise ConfigError(f"{key} needs --trunk NAME, which is not in this run")
                if key not in valid and (origin == "user" or not absent):
                    raise _not_in_this_run(key, owner) if owner in elsewhere else unknown("key", key, valid)


def _not_in_this_run(key: str, owner: str) -> ConfigError:
    kind = next(kind for kind, names in KINDS.items() if owner in names)
    return ConfigError(f"{key} needs --{kind} {owner}, which is not in this run")
