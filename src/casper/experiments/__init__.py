"""Experiments: names, configuration, and a run on disk."""

from casper.experiments.build import build_trainer
from casper.experiments.checkpointing import USUAL, CheckpointEvery
from casper.experiments.diagnosis import Diagnosis, examine_run
from casper.experiments.environment import describe_environment
from casper.experiments.execution import RunStoppedError, execute
from casper.experiments.interruption import Interruption, RunInterrupted
from casper.experiments.latent_analysis import analyse_run
from casper.experiments.questions import Questions
from casper.experiments.run_directory import RunDirectory

__all__ = [
    "USUAL",
    "CheckpointEvery",
    "Diagnosis",
    "Interruption",
    "Questions",
    "RunDirectory",
    "RunInterrupted",
    "RunStoppedError",
    "analyse_run",
    "build_trainer",
    "describe_environment",
    "examine_run",
    "execute",
]
