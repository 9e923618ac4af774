"""Which code made a result."""

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

# What a run's configuration says already, or what only looks at results.
_WITHOUT_EFFECT = ("experiments", "sweeps", "reporting", "cli")


@cache
def code_version() -> str:
    """Name the code: the package's version and ten digits of a checksum of all modules that a result depends on."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py"), key=lambda file: file.relative_to(package).parts):
        name = file.relative_to(package)
        if name.parts[0] not in _WITHOUT_EFFECT:
            digest.update(f"{name.as_posix()}\n".encode() + file.read_bytes().replace(b"\r\n", b"\n"))
    return f"{metadata.version('casper-il')} {digest.hexdigest()[:10]}"
