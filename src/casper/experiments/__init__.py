"""Experiments: names, configuration, and a run on disk."""

from casper.experiments.build import build_trainer
from casper.experiments.checkpointing import USUAL, CheckpointEvery
from casper.experiments.config import Options, RunConfig, flattened
from casper.experiments.diagnosis import Diagnosis, examine_run
from casper.experiments.environment import describe_environment
from casper.experiments.errors import ConfigError
from casper.experiments.execution import RunStoppedError, execute
from casper.experiments.hyper_parameters import HyperParameter, hyper_parameters, meanings
from casper.experiments.interruption import Interruption, RunInterrupted
from casper.experiments.latent_analysis import analyse_run
from casper.experiments.names import (
    BACKBONES,
    KINDS,
    METHODS,
    PATTERNS,
    REGULARIZERS,
    STREAMS,
    Kind,
    describe,
    explain,
    resolve,
)
from casper.experiments.protocols import PROTOCOLS, usual_protocol
from casper.experiments.questions import Questions
from casper.experiments.resolution import parse_settings, resolve_config
from casper.experiments.run_directory import RunDirectory
from casper.experiments.yaml_files import read_layout, to_yaml

__all__ = [
    "BACKBONES",
    "KINDS",
    "METHODS",
    "PATTERNS",
    "PROTOCOLS",
    "REGULARIZERS",
    "STREAMS",
    "USUAL",
    "CheckpointEvery",
    "ConfigError",
    "Diagnosis",
    "HyperParameter",
    "Interruption",
    "Kind",
    "Options",
    "Questions",
    "RunConfig",
    "RunDirectory",
    "RunInterrupted",
    "RunStoppedError",
    "analyse_run",
    "build_trainer",
    "describe",
    "describe_environment",
    "examine_run",
    "execute",
    "explain",
    "flattened",
    "hyper_parameters",
    "meanings",
    "parse_settings",
    "read_layout",
    "resolve",
    "resolve_config",
    "to_yaml",
    "usual_protocol",
]
