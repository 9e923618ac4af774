"""Options that are arguments of the stream: how many tasks, in which order, how large the images."""

import inspect
from typing import Any

from casper.experiments.config import Options
from casper.experiments.errors import ConfigError, flag
from casper.experiments.hyper_parameters import signature_of, takes
from casper.experiments.names import resolve

# The argument of a stream's function, and the option that sets it.
STREAM_ARGUMENTS = {"num_tasks": "tasks", "class_order": "class_order", "image_size": "image_size"}


def fitted_to_stream(options: Options, asked: set[str]) -> Options:
    """Fill in the stream's own defaults, and leave out what it has no use for.

    Args:
        options: What was chosen so far.
        asked: The options that the user gave; one of them that the stream cannot follow is refused.

    Raises:
        ConfigError: For an option that is missing or does not apply.
    """
    factory = resolve("stream", options.stream)
    changes: dict[str, Any] = {}
    for argument, option in STREAM_ARGUMENTS.items():
        value = getattr(options, option)
        if not takes(factory, argument):
            if value is not None and option in asked:
                raise ConfigError(f"{flag(option)} does not apply to --stream {options.stream}")
            changes[option] = None
        elif value is None:
            default = signature_of(factory).parameters[argument].default
            if default is inspect.Parameter.empty:
                raise ConfigError(f"{flag(option)} should be given with --stream {options.stream}; found none")
            changes[option] = default
    return options.model_copy(update=changes)


def stream_arguments(options: Options, data_dir: str | None) -> dict[str, Any]:
    """Gather what the run itself passes to the stream's function."""
    factory = resolve("stream", options.stream)
    known = {argument: getattr(options, option) for argument, option in STREAM_ARGUMENTS.items()}
    known |= {"seed": options.seed, "data_dir": data_dir}
    return {argument: value for argument, value in known.items() if takes(factory, argument)}
