"""What a user should know, and what stops nothing."""

import sys

from casper.config.errors import printable


def warn(text: str) -> None:
    """Say it in one line on standard error."""
    print(f"casper: warning: {printable(text)}", file=sys.stderr)
