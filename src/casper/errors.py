"""Exceptions for invalid parameters, non-finite numbers and unusable data."""

import math
import re

# PyTorch has no exception for this on the CPU.
_FAILED_ALLOCATION = re.compile("can't allocate memory|out of memory|bad_alloc|Storage size calculation overflowed")


class ParameterError(ValueError):
    """A parameter does not meet its requirement.

    Attributes:
        parameter: The name of the parameter.
        requirement: The requirement, as text that follows "must be".
        found: The given value, as text.

    Example:
        >>> from casper import ParameterError, split_digits
        >>> try:
        ...     split_digits(num_tasks=3)
        ... except ParameterError as error:
        ...     print(error)
        `num_tasks` must be a divisor of the number of classes, 10, but got 3
    """

    def __init__(self, parameter: str, requirement: str, found: str) -> None:
        super().__init__(f"`{parameter}` must be {requirement}, but got {found}")
        self.parameter = parameter
        self.requirement = requirement
        self.found = found

    def __reduce__(self) -> tuple[type["ParameterError"], tuple[str, str, str]]:
        return type(self), (self.parameter, self.requirement, self.found)


class NonFiniteLossError(ArithmeticError):
    """A loss, a weight or a feature became infinite or NaN. The message is one line, written for the user.

    Example:
        >>> from casper.errors import NonFiniteLossError
        >>> try:
        ...     raise NonFiniteLossError("the loss is not finite in task 1")
        ... except NonFiniteLossError as error:
        ...     print(error)
        the loss is not finite in task 1
    """


class DataError(ValueError):
    """Images or labels cannot be used. The message names the file and the row.

    Example:
        >>> from casper.errors import DataError
        >>> try:
        ...     raise DataError("train.parquet row 3: the label is missing, got None")
        ... except DataError as error:
        ...     print(error)
        train.parquet row 3: the label is missing, got None
    """


def require_weights(**values: float) -> None:
    """Raise `ParameterError` unless all values are finite and at least 0.

    Example:
        >>> from casper.errors import ParameterError, require_weights
        >>> try:
        ...     require_weights(alpha=0.5, beta=-1.0)
        ... except ParameterError as error:
        ...     print(error)
        `beta` must be a finite number, at least 0, but got -1.0
    """
    for name, value in values.items():
        require(0 <= value < math.inf, name, "a finite number, at least 0", value)


def require(condition: bool, parameter: str, requirement: str, value: object) -> None:
    """Raise `ParameterError` with `repr(value)` unless the condition holds; of a tensor or array, with its shape.

    Example:
        >>> from casper.errors import ParameterError, require
        >>> try:
        ...     require(0 >= 1, "size", "at least 1", 0)
        ... except ParameterError as error:
        ...     print(error)
        `size` must be at least 1, but got 0
    """
    if not condition:
        shape = getattr(value, "shape", None)
        found = repr(value) if shape is None else f"{type(value).__name__} of shape {tuple(shape)}"
        raise ParameterError(parameter, requirement, found)


def out_of_memory(error: BaseException) -> str | None:
    """Describe a failed allocation of Python, NumPy or PyTorch in one line; returns None for every other error.

    Example:
        >>> from casper.errors import out_of_memory
        >>> out_of_memory(RuntimeError("can't allocate memory: you tried to allocate 8000000 bytes."))
        'out of memory (tried to allocate 8000000 bytes)'
    """
    text = str(error)
    if not isinstance(error, MemoryError) and not (isinstance(error, RuntimeError) and _FAILED_ALLOCATION.search(text)):
        return None
    size = re.search(r"tried to allocate (\d[\d.]* \w+)", text, re.IGNORECASE)
    return f"out of memory (tried to allocate {size[1]})" if size else "out of memory"


def smaller_rate_advice(lr: float) -> str:
    """Return the advice for numbers that are no longer finite.

    Example:
        >>> from casper.errors import smaller_rate_advice
        >>> smaller_rate_advice(0.5)
        'the learning rate is 0.5, try a smaller one'
    """
    return f"the learning rate is {lr:g}, try a smaller one"
