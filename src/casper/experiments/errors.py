"""Complaints about what a user asked for."""

from collections.abc import Iterable
from difflib import get_close_matches
from reprlib import Repr

from casper.errors import ParameterError

_BRIEF = Repr()
_BRIEF.maxstring = _BRIEF.maxother = 80


class ConfigError(ValueError):
    """A run that cannot be made as asked; the message is one line, for the user."""


def brief(value: object) -> str:
    """Show a value in a line that can be read: long text, numbers and nested lists are cut in the middle."""
    return _BRIEF.repr(value)


def unknown(what: str, name: object, valid: Iterable[str]) -> ConfigError:
    """Name what is not known, the nearest valid name and all of them."""
    names = sorted(valid)
    near = get_close_matches(str(name)[:80], names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return ConfigError(f"unknown {what} {brief(str(name))}; {hint}valid: {', '.join(names)}")


def explained(error: ParameterError, owner: str | None = None, option: str | None = None) -> ConfigError:
    """Turn a constructor's complaint into one about the option or key that the user can change."""
    key = f"{owner}.{error.parameter}" if owner else flag(option or error.parameter)
    return ConfigError(f"{key} should be {error.requirement}; found {error.found}")


def flag(option: str) -> str:
    """Write an option's name as it is typed on the command line, where several regularizers are given one by one."""
    return "--regularizer" if option == "regularizers" else "--" + option.replace("_", "-")
