"""The user's classes as a run recorded them, for code that compares configurations and imports no user module."""

import inspect
from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any

from casper.config.registry import Find, Kind, custom_parts, find_part
from casper.config.stream_options import STREAM_ARGUMENTS


def recorded_parts(layout: Mapping[str, Any], *, all_defaults: bool = False) -> Find:
    """Return a function that looks up parts as `find_part` does, but describes the user's from a run's configuration.

    Args:
        layout: The run's configuration, in the layout of `config.yaml`, with the origins.
        all_defaults: Whether every recorded value counts as a default. Otherwise only those do whose origin says so,
            and the other hyper-parameters are required.
    """
    origins = layout.get("origin")

    def default(key: str, value: Any) -> Any:
        known = all_defaults or (isinstance(origins, Mapping) and origins.get(key) == "default")
        return value if known else inspect.Parameter.empty

    def find(kind: Kind, name: str) -> Callable[..., Any]:
        if not custom_parts({kind: name}):
            return find_part(kind, name)
        named = kind in ("backbone", "trunk")
        owner = kind if named else name
        recorded = layout.get(owner)
        values = dict(recorded) if isinstance(recorded, Mapping) else {}
        values.pop("name" if named else "", None)
        arguments = {key: (default(f"{owner}.{key}", value), value) for key, value in values.items()}
        if kind == "stream":
            options = {key: (option, layout.get(option)) for key, option in STREAM_ARGUMENTS.items()}
            arguments |= {key: (default(option, value), value) for key, (option, value) in options.items() if value}
        part: Any = _stand_in(arguments, keeps_memory=layout.get("buffer_size") != 0)
        part.own_arguments = frozenset({"image_size"} if kind == "trunk" else ())
        return part  # type: ignore[no-any-return]

    return find


def _stand_in(arguments: Mapping[str, tuple[Any, Any]], *, keeps_memory: bool) -> Callable[..., Any]:
    """Make a function with these arguments, each a default and a recorded value, and a class's attributes."""

    def stand_in() -> None:
        """A class of the user's that was not imported."""

    part: Any = stand_in
    usable = {key: both for key, both in arguments.items() if str(key).isidentifier() and not iskeyword(key)}
    part.__signature__ = inspect.Signature(
        [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=first) for key, (first, _) in usable.items()]
    )
    # An integer that is given for a float is recorded as a float.
    part.__annotations__ = {key: float for key, (_, value) in usable.items() if isinstance(value, float)}
    part.keeps_memory, part.takes_unlabelled, part.needs_memory = keeps_memory, True, False
    return stand_in
