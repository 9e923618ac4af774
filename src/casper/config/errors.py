"""Complaints about what a user asked for."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from reprlib import Repr

from casper.errors import ParameterError

_BRIEF = Repr()
_BRIEF.maxstring = _BRIEF.maxother = 80

# Options of a run that have no flag: they are given with --set.
WITHOUT_FLAG = ("milestones", "gamma")


class ConfigError(ValueError):
    """A run that cannot be made as asked; the message is one line, for the user."""


def brief(value: object) -> str:
    """Show a value in a line that can be read: long text, numbers and nested lists are cut in the middle."""
    return _BRIEF.repr(value)


def printable(text: str) -> str:
    """Show text from files and data sets on a terminal: signs that would steer it become question marks."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def unknown(what: str, name: object, valid: Iterable[str]) -> ConfigError:
    """Name what is not known, the nearest valid name and all of them."""
    names = sorted(valid)
    near = _nearest(str(name)[:80], names)
    hint = f"did you mean {near!r}? " if near else ""
    return ConfigError(f"unknown {what} {brief(str(name))}; {hint}valid: {', '.join(names)}")


def _nearest(name: str, names: Sequence[str]) -> str | None:
    """Find the valid name that was meant: in another spelling, without its owner, or with a slip."""
    wanted = _plain(name)
    for candidate in names:
        if wanted in (_plain(candidate), _plain(candidate.rpartition(".")[2])):
            return candidate
    owner = name.rpartition(".")[0]
    siblings = [candidate for candidate in names if owner and candidate.rpartition(".")[0] == owner]
    # Of one owner's keys the end must be near: all of them begin alike.
    plain = {_plain(candidate.removeprefix(f"{owner}.")): candidate for candidate in siblings or names}
    near = get_close_matches(_plain(name.removeprefix(f"{owner}.")) if siblings else wanted, plain, n=1, cutoff=0.5)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    """Write `DER++` and `derpp` alike: small letters, `p` for plus, and no other signs but the dot."""
    return "".join(letter for letter in name.lower().replace("+", "p") if letter.isalnum() or letter == ".")


def explained(error: ParameterError, owner: str | None = None, option: str | None = None) -> ConfigError:
    """Turn a constructor's complaint into one about the option or key that the user can change."""
    key = f"{owner}.{error.parameter}" if owner else flag(option or error.parameter)
    return ConfigError(f"{key} must be {error.requirement}, but got {error.found}")


def flag(option: str) -> str:
    """Write an option's name as it is typed on the command line, where several regularizers are given one by one."""
    if option in WITHOUT_FLAG:
        return f"--set {option}"
    return "--regularizer" if option == "regularizers" else "--" + option.replace("_", "-")
