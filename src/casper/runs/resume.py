"""Resume a stopped run from its directory.

`Trainer.load_state_dict` restores the trainer; `casper.training.resumable` handles work that was stopped in the middle
of a unit.
"""

import shlex
from collections.abc import Callable
from typing import Any

from casper.config.options import RunConfig
from casper.errors import ParameterError
from casper.runs.directory import RunDirectory, lost_options
from casper.runs.environment import differences
from casper.runs.log import RunLog, check_log_state
from casper.runs.state_kinds import UNFIT, StateKinds, misfit
from casper.runs.user_code import UserCode, changed_parts, recorded_user_code
from casper.training import Trainer


def resume(
    directory: RunDirectory,
    config: RunConfig,
    trainer: Trainer,
    log: RunLog,
    environment: dict[str, Any],
    warn: Callable[[str], None],
) -> tuple[list[str], UserCode]:
    """Load the latest checkpoint of a run into a new trainer and log. Without a checkpoint the run restarts.

    Args:
        directory: The directory of the run.
        config: The configuration of the run.
        trainer: Receives the network, memory, random generators and position of the checkpoint.
        log: Is cut to its length at the checkpoint.
        environment: The present environment, with the choices of the original run. It is added to `environment.json`;
            differences from the original one give a warning.
        warn: Called with each warning for the user.

    Returns:
        The versions of the code that computed the checkpoint, and of the user's classes.

    Raises:
        ConfigError: If no checkpoint can be used.
    """
    state, damage = directory.read_checkpoint(config)
    if state is None:
        directory.begin(environment)
        return [], environment["user_code"]
    try:
        StateKinds(trainer).check(state["trainer"])
        check_log_state(state["log"])
        trainer.load_state_dict(state["trainer"])
        log.load_state_dict(state["log"])
        versions = [str(version) for version in state["code"]]
    except ParameterError:
        raise
    except UNFIT as error:
        raise misfit(f"the checkpoint in {directory.path}", error) from error
    if log.damage:
        warn(f"{log.path} {log.damage}")
    if damage is not None:
        warn(f"{damage}; resuming from the previous checkpoint")
        directory.put_damaged_aside()
    before = directory.read_environment()
    before = {key: value for key, value in before.items() if key not in lost_options(before)}
    if changed := differences(before, environment):
        warn(f"the environment has changed: {'; '.join(changed)}; the last digits of the result may differ")
    earlier = before.get("resumed")
    choices = {name: environment[name] for name in ("keep_checkpoints", "analyse")}
    resumed = [*(earlier if isinstance(earlier, list) else ()), environment]
    directory.write_environment({**environment, **before, **choices, "resumed": resumed})
    earlier_code = recorded_user_code(state)
    latest = {part: {"digest": entry["digest"].split(", ")[-1]} for part, entry in earlier_code.items()}
    if parts := changed_parts(latest, environment["user_code"]):
        both = "the result is of both versions and records both; --overwrite restarts the run"
        warn(f"the code of {', '.join(parts)} has changed since the run was stopped; {both}")
    return versions, earlier_code


def how_to_resume(directory: RunDirectory) -> str:
    """Return a hint with the command that resumes a run. Returns empty text if the run no longer exists."""
    if not directory.config.exists():
        return ""
    command = f"casper run --resume {shlex.quote(str(directory.path))}"
    return f"; resume with: {command}" if directory.has_checkpoint else f"; restart with: {command}"
