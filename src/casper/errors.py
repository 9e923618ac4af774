"""One form for every complaint about a parameter: its name, the requirement, what was found; and one about data."""

import math


class ParameterError(ValueError):
    """A parameter does not meet its requirement.

    Attributes:
        parameter: Its name.
        requirement: What it must be, in words that follow "must be".
        found: What it is, in words.
    """

    def __init__(self, parameter: str, requirement: str, found: str) -> None:
        super().__init__(f"`{parameter}` must be {requirement}, but got {found}")
        self.parameter = parameter
        self.requirement = requirement
        self.found = found

    def __reduce__(self) -> tuple[type["ParameterError"], tuple[str, str, str]]:
        return type(self), (self.parameter, self.requirement, self.found)


class NonFiniteLossError(ArithmeticError):
    """A loss, a weight or a feature became infinite or NaN; the message is one line, for the user."""


class DataError(ValueError):
    """Images or labels that cannot be used as they are; the message names the file and the row."""


def require_weights(**values: float) -> None:
    """Raise `ParameterError` unless all values are finite and at least 0."""
    for name, value in values.items():
        require(0 <= value < math.inf, name, "a finite number, at least 0", value)


def require(condition: bool, parameter: str, requirement: str, value: object) -> None:
    """Raise `ParameterError` unless the condition holds; `value` is shown as it is."""
    if not condition:
        raise ParameterError(parameter, requirement, repr(value))


def smaller_rate_advice(lr: float) -> str:
    """Say what to try when numbers are no longer finite."""
    return f"the learning rate is {lr:g}, try a smaller one"
