"""Errors in a configuration, and the wording of their messages."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from reprlib import Repr

from casper.errors import ParameterError

_BRIEF = Repr()
_BRIEF.maxstring = _BRIEF.maxother = 80

# Options of a run that have no flag: they are given with --set.
WITHOUT_FLAG = ("milestones", "gamma")
# Parameters that no option sets: a checkpoint, and what a network computes.
_INTERNAL = ("state", "features")


class ConfigError(ValueError):
    """The configuration of a run is not valid; the message is one line, for the user.

    Example:
        >>> from casper.config import ConfigError, resolve_config
        >>> try:
        ...     resolve_config({"method": "err"})
        ... except ConfigError as error:
        ...     print(str(error).partition(" valid:")[0])
        unknown method 'err'; did you mean 'er'?
    """


def brief(value: object) -> str:
    """Return a short `repr` of a value: long text, long numbers and nested lists are cut in the middle."""
    return _BRIEF.repr(value)


def unknown(what: str, name: object, valid: Iterable[str]) -> ConfigError:
    """Build the error for an unknown name: it suggests the nearest valid name and lists all of them.

    A valid name with a placeholder in capitals, such as `folder:PATH`, is suggested if the text before the colon is
    near to it: `foldr:images` gives `folder:images`.
    """
    names, text = sorted(valid), str(name)
    near = nearest_pattern(text, names) or _nearest(text[:80], names)
    hint = f"did you mean {near!r}? " if near else ""
    return ConfigError(f"unknown {what} {brief(text)}; {hint}valid: {', '.join(names)}")


def nearest_pattern(name: str, names: Iterable[str]) -> str | None:
    """Correct the prefix of a name such as `foldr:images`, given patterns such as `folder:PATH`.

    Returns None if the prefix is not near to that of a pattern. Without a text after the prefix, or with a long one,
    the pattern itself is returned.
    """
    prefix, _, rest = name.partition(":")
    patterns = {pattern.partition(":")[0]: pattern for pattern in names if pattern.partition(":")[2].isupper()}
    near = get_close_matches(_plain(prefix[:80]), patterns, n=1, cutoff=0.6)
    if not near:
        return None
    return f"{near[0]}:{rest}" if rest and len(name) <= 80 else patterns[near[0]]


def _nearest(name: str, names: Sequence[str]) -> str | None:
    """Find the valid name that was probably meant: spelled differently, without its owner, or with a typing error."""
    wanted = _plain(name)
    for candidate in names:
        if wanted in (_plain(candidate), _plain(candidate.rpartition(".")[2])):
            return candidate
    owner = name.rpartition(".")[0]
    siblings = [candidate for candidate in names if owner and candidate.rpartition(".")[0] == owner]
    # All keys of one owner start with the same text, so only their ends are compared.
    plain = {_plain(candidate.removeprefix(f"{owner}.")): candidate for candidate in siblings or names}
    near = get_close_matches(_plain(name.removeprefix(f"{owner}.")) if siblings else wanted, plain, n=1, cutoff=0.5)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    """Normalize a name, so that `DER++` and `derpp` are equal: lower case, `p` for plus, letters, digits and dots."""
    return "".join(letter for letter in name.lower().replace("+", "p") if letter.isalnum() or letter == ".")


def explained(error: ParameterError, owner: str | None = None, option: str | None = None) -> ConfigError:
    """Convert a constructor's error into one about the option or key that the user can change."""
    key = f"{owner}.{error.parameter}" if owner else flag(option or error.parameter)
    return ConfigError(f"{key} must be {error.requirement}, but got {error.found}")


def flag(option: str) -> str:
    """Return an option as it is typed on the command line, where `--regularizer` is repeated for several of them."""
    if option in WITHOUT_FLAG:
        return f"--set {option}"
    if option in _INTERNAL:
        return f"`{option}`"
    return "--regularizer" if option == "regularizers" else "--" + option.replace("_", "-")
