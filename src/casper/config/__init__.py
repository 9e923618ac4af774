"""Configuration of a run: options, hyper-parameters, names and presets, resolved to a complete `RunConfig`."""

from casper.config.errors import ConfigError
from casper.config.options import Options, RunConfig, flattened
from casper.config.parameters import HyperParameter, hyper_parameters, meanings
from casper.config.presets import PROTOCOLS, usual_protocol
from casper.config.registry import (
    BACKBONES,
    KINDS,
    METHODS,
    PATTERNS,
    REGULARIZERS,
    STREAMS,
    Kind,
    describe,
    explain,
    find_part,
)
from casper.config.resolve import parse_settings, resolve_config
from casper.config.yaml import read_layout, to_yaml

__all__ = [
    "BACKBONES",
    "KINDS",
    "METHODS",
    "PATTERNS",
    "PROTOCOLS",
    "REGULARIZERS",
    "STREAMS",
    "ConfigError",
    "HyperParameter",
    "Kind",
    "Options",
    "RunConfig",
    "describe",
    "explain",
    "find_part",
    "flattened",
    "hyper_parameters",
    "meanings",
    "parse_settings",
    "read_layout",
    "resolve_config",
    "to_yaml",
    "usual_protocol",
]
