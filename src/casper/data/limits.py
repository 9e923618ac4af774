"""A limit on the size of decoded images, checked before they are decoded: small files can decode to terabytes."""

import os
import re

from casper.errors import DataError, ParameterError

ROW_SIZE = 200  # bytes of an image in the lists of rows and labels
LIMIT_VARIABLE = "CASPER_MAX_DECODED_SIZE"
_DEFAULT = "4GB"
_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def parse_size(text: str, parameter: str = "max_decoded_size") -> int:
    """Read a size such as `500MB` or `4GB` in bytes; raises `ParameterError` for other text.

    Args:
        text: The size.
        parameter: The name of the parameter that has this value, for the error.

    Example:
        >>> from casper.data.limits import parse_size
        >>> parse_size("1.5GB")
        1500000000
    """
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([KMGT]?B)", text, re.IGNORECASE | re.ASCII)
    if match is None:
        raise ParameterError(parameter, "a size such as 500MB or 4GB", repr(text))
    return int(float(match[1]) * _UNITS[match[2].upper()])


def check_decoded_size(size: int, what: str) -> None:
    """Raise `DataError` if the data is larger than the limit: `CASPER_MAX_DECODED_SIZE`, or 4 GB.

    Args:
        size: The size in bytes that decoding allocates.
        what: The name of the data, for the error message.

    Example:
        >>> from casper.data.limits import check_decoded_size
        >>> try:
        ...     check_decoded_size(9 * 10**9, "train.npz")
        ... except ValueError as error:
        ...     print(str(error).partition(";")[0])
        train.npz: 9 GB when decoded, more than 4GB
    """
    limit = os.environ.get(LIMIT_VARIABLE) or _DEFAULT
    try:
        most = parse_size(limit)
    except ParameterError as error:
        raise DataError(f"{LIMIT_VARIABLE} must be {error.requirement}, but got {error.found}") from error
    if size > most:
        unit = next((name for name in ("TB", "GB", "MB", "KB") if size >= _UNITS[name]), "B")
        amount = f"{size / _UNITS[unit]:.4g} {unit}" if size < 10**18 else "over a million TB"
        hint = f"if this is intended, give a larger --max-decoded-size (or {LIMIT_VARIABLE})"
        raise DataError(f"{what}: {amount} when decoded, more than {limit}; {hint}")
