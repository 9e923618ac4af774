"""A run on disk: build it from its configuration, execute, resume, inspect and analyse it."""

from typing import TYPE_CHECKING

from casper._lazy import has_source, lazy_exports

if TYPE_CHECKING or not has_source(__name__):
    from casper.runs.analyse import AnalysisOptions, analyse_run
    from casper.runs.build import build_stream, build_trainer
    from casper.runs.checkpointing import USUAL, CheckpointEvery
    from casper.runs.directory import RunDirectory
    from casper.runs.environment import describe_environment
    from casper.runs.execution import execute
    from casper.runs.inspect import Diagnosis, examine_run
    from casper.runs.log import how_far
    from casper.runs.results import Analysis, Embedding, FunctionalMap, MemorySpectrum, TaskEnd
    from casper.runs.signals import Interruption, RunInterrupted, RunStoppedError
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = [
    "USUAL",
    "Analysis",
    "AnalysisOptions",
    "CheckpointEvery",
    "Diagnosis",
    "Embedding",
    "FunctionalMap",
    "Interruption",
    "MemorySpectrum",
    "RunDirectory",
    "RunInterrupted",
    "RunStoppedError",
    "TaskEnd",
    "analyse_run",
    "build_stream",
    "build_trainer",
    "describe_environment",
    "examine_run",
    "execute",
    "how_far",
]
