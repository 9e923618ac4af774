"""Experiments: names, configuration, and a run on disk."""

from casper.experiments.build import build_trainer
from casper.experiments.config import Options, RunConfig, flattened
from casper.experiments.errors import ConfigError
from casper.experiments.execution import execute
from casper.experiments.hyper_parameters import HyperParameter, hyper_parameters
from casper.experiments.names import BACKBONES, KINDS, METHODS, PATTERNS, REGULARIZERS, STREAMS, Kind, describe, resolve
from casper.experiments.protocols import PROTOCOLS, usual_protocol
from casper.experiments.resolution import parse_settings, resolve_config
from casper.experiments.run_directory import RunDirectory, describe_environment
from casper.experiments.yaml_files import read_layout, to_yaml

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
    "RunDirectory",
    "build_trainer",
    "describe",
    "describe_environment",
    "execute",
    "flattened",
    "hyper_parameters",
    "parse_settings",
    "read_layout",
    "resolve",
    "resolve_config",
    "to_yaml",
    "usual_protocol",
]
