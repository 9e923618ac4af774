"""Make one run, from configuration to files, or what is left of it."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from casper.config.errors import explained
from casper.config.options import RunConfig
from casper.errors import NonFiniteLossError, ParameterError
from casper.nets import check_weights
from casper.runs.build import build_trainer
from casper.runs.checkpointing import USUAL, Checkpointer, CheckpointEvery
from casper.runs.code_version import code_version, same_computation
from casper.runs.directory import RunDirectory
from casper.runs.environment import describe_environment
from casper.runs.lock import run_lock
from casper.runs.log import RunLog
from casper.runs.resume import how_to_resume, resume
from casper.runs.signals import Interruption, RunInterrupted, RunStoppedError
from casper.training import Listener


def execute(
    config: RunConfig,
    out: Path,
    *,
    device: str = "cpu",
    data_dir: str | None = None,
    overwrite: bool = False,
    checkpoint_every: CheckpointEvery = USUAL,
    keep_checkpoints: bool = False,
    analyse: bool = False,
    listeners: Sequence[Listener] = (),
    interruption: Interruption | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> dict[str, Any]:
    """Run a configuration in a directory, or go on with it where it was begun there; nothing is written if it cannot.

    Args:
        config: What to run.
        out: The run's directory.
        device: Where to train.
        data_dir: Where data sets are looked for first.
        overwrite: Whether a run that is there already is replaced.
        checkpoint_every: How often its state is written.
        keep_checkpoints: Whether the state after every task stays.
        analyse: Whether the run will be analysed: the states stay until then. Both wishes are remembered with the run.
        listeners: Who else is told of events.
        interruption: Takes the signals that ask to stop. Default: they are left alone.
        warn: Told what the user should know.

    Returns:
        The content of `metrics.json`.

    Raises:
        ConfigError: If the run cannot be made as asked.
        DataError: If the stream's images cannot be had or used.
        NonFiniteLossError: If training leaves the numbers.
        RunInterrupted: If it was asked to stop; all that was learnt is in the checkpoint, unless it was asked twice.
        RunStoppedError: If its files cannot be written any more.
    """
    directory = RunDirectory(out)
    if _begun(directory, config, overwrite):  # before the images are decoded
        with run_lock(out):
            pass
    log = RunLog(directory.log)
    versions = [code_version()]
    environment = describe_environment(device, data_dir)
    environment |= {"keep_checkpoints": keep_checkpoints, "analyse": analyse}

    def state() -> dict[str, Any]:
        if trainer.optimizer is not None:  # a state that cannot go on must not replace one that can
            check_weights(trainer.net, f"in {trainer.position}", trainer.optimizer)
        return {"trainer": trainer.state_dict(), "log": log.state_dict(), "code": versions}

    def save() -> None:
        directory.write_checkpoint(config, state())

    def keep(tasks_learnt: int) -> None:
        directory.keep_checkpoint(config, state(), tasks_learnt)

    checkpointer = Checkpointer(save, checkpoint_every, interruption, keep if keep_checkpoints or analyse else None)
    trainer = build_trainer(
        config, device=device, data_dir=data_dir, listeners=[log.listen, *listeners, checkpointer.listen]
    )
    with run_lock(out), nullcontext() if interruption is None else interruption.watched():
        try:
            if _begun(directory, config, overwrite):  # somebody may have been quicker
                earlier = resume(directory, config, trainer, log, environment, warn)
                known = any(same_computation(version, versions[0]) for version in earlier)
                versions = earlier if known else [*earlier, *versions]
            else:
                directory.create(config, environment)
            metrics = {**trainer.run(), "code": ", ".join(versions), "threads": torch.get_num_threads()}
            save()
            if interruption is not None and interruption.signal is not None:
                raise RunInterrupted(interruption.signal, "stopped")
            log.write("finished", steps=metrics["steps"], seconds=metrics["seconds"])
            log.sync()
            directory.finish(metrics)
        except OSError as error:
            if error.filename is None or not Path(error.filename).absolute().is_relative_to(out.absolute()):
                raise
            stopped = f"{error.filename} cannot be written: {error.strerror}"
            raise RunStoppedError(f"{stopped}{how_to_resume(directory)}") from error
        except RunInterrupted as stop:
            raise RunInterrupted(stop.signal, f"{stop}: {trainer.position}{how_to_resume(directory)}") from stop
        except NonFiniteLossError as error:
            kept = "the last good checkpoint is kept" if directory.has_checkpoint else "there is no checkpoint yet"
            raise NonFiniteLossError(f"{error}; {kept}") from error
        except ParameterError as error:  # what can be seen only in the course of a run
            raise explained(error) from error
    return metrics


def _begun(directory: RunDirectory, config: RunConfig, overwrite: bool) -> bool:
    """Tell whether there is a run to go on with."""
    state = directory.state() if overwrite else directory.check(config)
    return state == "unfinished" and not overwrite
