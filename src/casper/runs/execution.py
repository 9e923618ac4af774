"""Execute a run from its configuration to its files, or resume it."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from casper.config.errors import explained
from casper.config.options import RunConfig
from casper.errors import NonFiniteLossError, ParameterError, out_of_memory
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
from casper.runs.user_code import joined_user_code, loaded_user_code, weights_of
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
    """Run a configuration in a directory. An unfinished run of the same configuration there is resumed.

    Nothing is written if the configuration is not valid.

    Args:
        config: The configuration of the run.
        out: The directory of the run.
        device: The device to train on.
        data_dir: The directory to search for data sets first.
        overwrite: Whether to replace a run that is in the directory.
        checkpoint_every: How often to write a checkpoint.
        keep_checkpoints: Whether to keep a checkpoint of every task end. The directory stores this choice.
        analyse: Whether the run will be analysed; checkpoints of task ends are kept until then. The directory stores
            this choice.
        listeners: Functions that are called with every event of the training.
        interruption: Handles the signals that request a stop. Default: signals are not handled.
        warn: Called with each warning for the user.

    Returns:
        The content of `metrics.json`.

    Raises:
        ConfigError: If the configuration is not valid, or the directory cannot be used.
        DataError: If the stream's images are not available or not valid.
        NonFiniteLossError: If a loss or a weight becomes infinite or NaN.
        RunInterrupted: If a stop was requested. The checkpoint has the state of the run, unless it was requested twice.
        RunStoppedError: If the files of the run can no longer be written.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from casper.config import resolve_config
        >>> from casper.runs import execute
        >>> config = resolve_config({"stream": "split-digits", "method": "er", "epochs": 1})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     metrics = execute(config, Path(folder) / "run")
        >>> 0 <= metrics["class_il"]["final_average_accuracy"] <= 100
        True
    """
    directory = RunDirectory(out)
    if _begun(directory, config, overwrite):  # before the images are decoded
        with run_lock(out):
            pass
        if lost := directory.lost_options():
            warn(lost)
        before = directory.read_environment()
        keep_checkpoints = keep_checkpoints or before.get("keep_checkpoints") is True
        analyse = analyse or before.get("analyse") is True
    log = RunLog(directory.log)
    versions, code = [code_version()], loaded_user_code(config)
    environment = describe_environment(device, data_dir)
    environment |= {"keep_checkpoints": keep_checkpoints, "analyse": analyse, "code": versions[0], "user_code": code}

    def state() -> dict[str, Any]:
        if trainer.optimizer is not None:  # a checkpoint with bad weights must not replace a good one
            check_weights(trainer.net, f"in {trainer.position}", trainer.optimizer)
        return {"trainer": trainer.state_dict(), "log": log.state_dict(), "code": versions, "user_code": code}

    def save() -> None:
        directory.write_checkpoint(config, state())

    def keep(tasks_learned: int) -> None:
        directory.keep_checkpoint(config, state(), tasks_learned)

    checkpointer = Checkpointer(save, checkpoint_every, interruption, keep if keep_checkpoints or analyse else None)
    trainer = build_trainer(
        config, device=device, data_dir=data_dir, listeners=[log.listen, *listeners, checkpointer.listen]
    )
    if config.options.trunk is not None:
        code.setdefault(config.options.trunk, weights_of(config.options.trunk, trainer.stream))
    with run_lock(out), nullcontext() if interruption is None else interruption.watched():
        try:
            directory.remove_stale()
            if _begun(directory, config, overwrite):  # again: another process may have started it in the meantime
                earlier, earlier_code = resume(directory, config, trainer, log, environment, warn)
                known = any(same_computation(version, versions[0]) for version in earlier)
                versions = earlier if known else [*earlier, *versions]
                code = joined_user_code(earlier_code, code)
            else:
                directory.create(config, environment)
            metrics = {**trainer.run(), "code": ", ".join(versions), "threads": torch.get_num_threads()}
            metrics |= {"user_code": code} if code else {}
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
            saved = "the last good checkpoint is saved" if directory.has_checkpoint else "there is no checkpoint yet"
            raise NonFiniteLossError(f"{error}; {saved}") from error
        except ParameterError as error:  # some parameters can be checked only during the run
            raise explained(error) from error
        except (MemoryError, RuntimeError) as error:
            if (reason := out_of_memory(error)) is None:
                raise
            advice = "less is needed with a smaller batch size, memory or network"
            raise RunStoppedError(f"{reason} in {trainer.position}; {advice}{how_to_resume(directory)}") from error
    return metrics


def _begun(directory: RunDirectory, config: RunConfig, overwrite: bool) -> bool:
    """Return whether the directory contains a run to resume."""
    state = directory.state() if overwrite else directory.check(config)
    return state == "unfinished" and not overwrite
