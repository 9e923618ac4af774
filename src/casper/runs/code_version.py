"""Which code made a result, and which versions of the code give the same results.

The digest is that of the syntax trees of the modules that compute: docstrings, comments, layout and the names of files
do not count. `code_versions.yaml` lists digests whose results are the same to the bit.
"""

import ast
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from casper.config.yaml import parse_yaml

# Folders and modules that do not compute: they read configurations, make runs of them, and look at results.
_WITHOUT_EFFECT = (
    *("config", "runs", "sweeps", "paper", "plots", "reports", "cli"),
    *("__init__.py", "__main__.py", "formatting.py"),
)


@cache
def code_version() -> str:
    """Name the code that computes: the package's version and the digest of its modules."""
    return f"{metadata.version('casper-il')} {code_digest(Path(__file__).parent.parent)}"


def code_digest(package: Path) -> str:
    """Digest the computing modules of a package, in ten digits.

    What builds a run from its configuration is not among them, nor what comes after it.
    """
    names = [file.relative_to(package) for file in package.rglob("*.py")]
    computing = [name for name in names if name.parts[0] not in _WITHOUT_EFFECT and not str(name).startswith(".")]
    digests = sorted(_sha256(module_text((package / name).read_bytes())) for name in computing)
    return _sha256("\n".join(digests))[:10]


def module_text(source: bytes) -> str:
    """Write what a module computes, in the same way on every version of Python.

    That is its syntax tree without docstrings and without what is for type checkers alone. Imports of the package's
    modules are only the imported names: it does not matter where a name comes from.
    """
    imported: set[str] = set()
    text = _text(ast.parse(source), imported)
    return f"{text} {' '.join(sorted(imported))}"


def same_computation(one: str, other: str) -> bool:
    """Check whether two recorded versions of the code compute the same.

    Args:
        one: The version that a result carries as `code`; of a run that was resumed, several, separated by commas.
        other: Another one.
    """
    return _groups_of(one) == _groups_of(other)


@cache
def listed_digests() -> dict[str, int]:
    """Read `code_versions.yaml`: the number of its group for each digest."""
    groups = parse_yaml(Path(__file__).with_name("code_versions.yaml").read_text("utf-8"))
    return {entry["digest"]: number for number, group in enumerate(groups) for entry in group["digests"]}


def _groups_of(code: str) -> set[int | str]:
    """Find the groups of the versions that a result carries; a digest that is not listed is a group of its own."""
    digests = [version.split()[-1] for version in code.split(",") if version.strip()]
    return {listed_digests().get(digest, digest) for digest in digests}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _text(node: ast.AST, imported: set[str]) -> str:
    """Write a node of a syntax tree; empty if it has no effect.

    Empty fields are left out: versions of Python add some.

    Args:
        node: The node.
        imported: Gets the names that are imported from the package.
    """
    match node:
        case ast.Constant() | ast.MatchSingleton():
            return ascii(node.value)  # `repr` depends on the version's table of printable characters
        case ast.Expr(ast.Constant(str())):
            return ""  # a docstring
        case ast.JoinedStr():  # Python 3.12 puts empty texts into a format such as `{x:{width}}`
            values = [value for value in node.values if not isinstance(value, ast.Constant) or value.value]
            return f"JoinedStr({_list_text(values, imported)})"
        case ast.If(ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return _list_text(node.orelse, imported)
        case ast.Import() | ast.ImportFrom():
            return _import_text(node, imported)
    fields = []
    for name, value in ast.iter_fields(node):
        if not value or name == "ctx":  # load, store or delete: the node around it says the same
            continue
        if isinstance(value, ast.AST):
            text = _text(value, imported)
        else:
            text = _list_text(value, imported) if isinstance(value, list) else ascii(value)
        if text:
            fields.append(f"{name}={text}")
    return f"{type(node).__name__}({' '.join(fields)})"


def _list_text(nodes: Sequence[ast.AST | str | None], imported: set[str]) -> str:
    texts = []
    for node in nodes:
        if isinstance(node, ast.AST):
            texts.append(_text(node, imported))
        else:
            texts.append("-" if node is None else ascii(node))  # None: no default, or `**` in a dictionary
    return "; ".join(text for text in texts if text)


def _import_text(node: ast.Import | ast.ImportFrom, imported: set[str]) -> str:
    names = [f"{alias.name} as {alias.asname}" if alias.asname else alias.name for alias in node.names]
    if isinstance(node, ast.Import):
        imported.update(alias.asname or "casper" for alias in node.names if _is_own(alias.name))
        return "; ".join(f"import {name}" for name in names if not _is_own(name))
    if node.level or _is_own(node.module or ""):
        imported.update(names)
        return ""
    return "; ".join(f"from {node.module} import {name}" for name in names if name != "TYPE_CHECKING")


def _is_own(module: str) -> bool:
    return re.match(r"casper\b", module) is not None
