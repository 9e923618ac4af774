"""The options of a run that are arguments of its stream."""

import inspect
from typing import Any

from casper.config.errors import ConfigError, flag
from casper.config.options import Options
from casper.config.parameters import signature_of, takes
from casper.config.registry import Find, find_part

# The arguments of a stream's function, and the option that sets each.
STREAM_ARGUMENTS = {"num_tasks": "tasks", "class_order": "class_order", "image_size": "image_size"}


def fitted_to_stream(options: Options, given: set[str], find: Find = find_part) -> Options:
    """Fill in the defaults of the stream, and reset options that do not apply to it.

    Args:
        options: The options so far.
        given: The options that the user gave; it is an error if one of them does not apply.
        find: Looks up the class or function behind a name.

    Raises:
        ConfigError: For an option that is missing or does not apply.
    """
    factory = find("stream", options.stream)
    changes: dict[str, Any] = {}
    for argument, option in STREAM_ARGUMENTS.items():
        value = getattr(options, option)
        if not takes(factory, argument):
            if value is not None and option in given:
                raise ConfigError(f"{flag(option)} does not apply to --stream {options.stream}")
            changes[option] = None
        elif value is None:
            default = signature_of(factory).parameters[argument].default
            if default is inspect.Parameter.empty:
                raise ConfigError(f"{flag(option)} must be given with --stream {options.stream}")
            changes[option] = default
    return options.model_copy(update=changes)


def stream_arguments(options: Options, data_dir: str | None, find: Find = find_part) -> dict[str, Any]:
    """Collect the arguments that the run passes to the stream's function."""
    factory = find("stream", options.stream)
    known = {argument: getattr(options, option) for argument, option in STREAM_ARGUMENTS.items()}
    known |= {"seed": options.seed, "data_dir": data_dir}
    return {argument: value for argument, value in known.items() if takes(factory, argument)}
