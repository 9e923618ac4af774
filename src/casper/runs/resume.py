"""Resume a run that was stopped, from its directory.

The trainer restores its own state (`Trainer.load_state_dict`); work that was stopped in the middle of a unit is in
`casper.training.resumable`.
"""

import shlex
from collections.abc import Callable
from typing import Any

from casper.config.errors import ConfigError
from casper.config.options import RunConfig
from casper.errors import ParameterError
from casper.runs.directory import RunDirectory
from casper.runs.environment import differences
from casper.runs.log import RunLog
from casper.training import Trainer


def resume(
    directory: RunDirectory,
    config: RunConfig,
    trainer: Trainer,
    log: RunLog,
    environment: dict[str, Any],
    warn: Callable[[str], None],
) -> list[str]:
    """Load the latest checkpoint of a run into what was built anew for it; without one the run starts again.

    Args:
        directory: The run's directory.
        config: Its configuration.
        trainer: Takes the network, memory, random generators and position of the checkpoint.
        log: Is cut to where it was.
        environment: Where it is resumed; differences to where it began are warned of, and it is added to them.
        warn: Called with what the user should know.

    Returns:
        The versions of the code that led to the checkpoint.

    Raises:
        ConfigError: If no checkpoint can be used.
    """
    state, damage = directory.read_checkpoint(config)
    if state is None:
        directory.begin(environment)
        return []
    try:
        trainer.load_state_dict(state["trainer"])
        log.load_state_dict(state["log"])
        versions = [str(version) for version in state["code"]]
    except ParameterError:
        raise
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(f"{directory.path}: its checkpoint does not fit this version of casper: {reason}") from error
    if log.lost:
        warn(f"{log.path} has lost {log.lost} bytes since its checkpoint was written")
    if damage is not None:
        warn(f"{damage}; going on from the checkpoint before it")
        directory.put_damaged_aside()
    before = directory.read_environment()
    if not before:
        warn(f"{directory.environment} cannot be read: whether threads and device are as before is not known")
    if changed := differences(before, environment):
        warn(f"not as the run began: {'; '.join(changed)}; the last digits of the result may differ")
    earlier = before.get("resumed")
    for wish in ("keep_checkpoints", "analyse"):
        before[wish] = before.get(wish) is True or environment[wish]
    before["resumed"] = [*(earlier if isinstance(earlier, list) else ()), environment]
    directory.write_environment(before)
    return versions


def how_to_resume(directory: RunDirectory) -> str:
    """Name the command that resumes a run; empty if the run is gone."""
    if not directory.config.exists():
        return ""
    command = f"casper run --resume {shlex.quote(str(directory.path))}"
    return f"; continue with: {command}" if directory.has_checkpoint else f"; begin again with: {command}"
