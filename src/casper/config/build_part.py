"""Build one part of a run from its hyper-parameters."""

from collections.abc import Mapping
from typing import Any

from casper.config.errors import ConfigError, explained
from casper.config.options import RunConfig
from casper.config.registry import Find, Kind, find_part
from casper.config.stream_options import STREAM_ARGUMENTS
from casper.errors import DataError, ParameterError, out_of_memory


def build_part(
    config: RunConfig, kind: Kind, name: str, arguments: Mapping[str, Any] | None = None, find: Find = find_part
) -> Any:
    """Build a method, regularizer, stream or trunk with its hyper-parameters.

    Args:
        config: The configuration of the run.
        kind: The kind of the part.
        name: Its name.
        arguments: Further arguments, such as those of `stream_arguments`.
        find: Looks up the class or function behind a name.

    Raises:
        ConfigError: If the part rejects its hyper-parameters.
        DataError: If the images of a stream are not available or not valid.
    """
    owner = kind if kind == "trunk" else name
    try:
        built = find(kind, name)(**config.hyper.get(owner, {}), **(arguments or {}))
    except ParameterError as error:
        option = STREAM_ARGUMENTS.get(error.parameter) if kind == "stream" else None
        raise explained(error, None if option or error.parameter == kind else owner, option) from error
    except DataError:
        raise
    except (RuntimeError, TypeError, ValueError) as error:  # a custom class may raise errors with any message
        if out_of_memory(error):
            raise
        raise ConfigError(f"--{kind} {name} rejects its hyper-parameters: {error}") from error
    if kind == "stream":
        from casper.streams import TaskStream

        if not isinstance(built, TaskStream):
            raise ConfigError(f"--stream {name} must return a TaskStream, but got {type(built).__name__}")
    return built
