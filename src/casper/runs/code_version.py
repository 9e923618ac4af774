"""Which code made a result."""

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

# The layers that do not compute: they read configurations, make runs of them, and look at results.
_WITHOUT_EFFECT = ("config", "runs", "sweeps", "paper", "plots", "reports", "reporting", "cli")


@cache
def code_version() -> str:
    """Name the code that computes: the package's version and ten digits of a checksum of its modules.

    What builds a run from its configuration is not among them, nor what comes after it.
    """
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py"), key=lambda file: file.relative_to(package).parts):
        name = file.relative_to(package)
        if name.parts[0] not in _WITHOUT_EFFECT:
            digest.update(f"{name.as_posix()}\n".encode() + file.read_bytes().replace(b"\r\n", b"\n"))
    return f"{metadata.version('casper-il')} {digest.hexdigest()[:10]}"
