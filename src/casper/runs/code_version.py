"""The version of the code that computed a result, and which versions give the same results.

The digest is computed from the syntax trees of the computing modules; docstrings, comments, layout and file names have
no effect on it. `code_versions.yaml` lists digests whose results are bit-identical.
"""

import ast
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from casper.config.yaml import parse_yaml

# Folders and modules that do not compute results: they handle configurations, runs and reports.
_WITHOUT_EFFECT = (
    *("config", "runs", "sweeps", "paper", "plots", "reports", "cli"),
    *("__init__.py", "__main__.py", "formatting.py"),
)


@cache
def code_version() -> str:
    """Return the version of the package and the digest of its computing modules."""
    return f"{metadata.version('casper-il')} {code_digest(Path(__file__).parent.parent)}"


def code_digest(package: Path) -> str:
    """Compute the digest of the computing modules of a package, ten hexadecimal digits.

    The configuration and everything that depends on it are not included.
    """
    names = [file.relative_to(package) for file in package.rglob("*.py")]
    computing = [name for name in names if name.parts[0] not in _WITHOUT_EFFECT and not str(name).startswith(".")]
    digests = sorted(_sha256(module_text((package / name).read_bytes())) for name in computing)
    return _sha256("\n".join(digests))[:10]


def module_text(source: bytes) -> str:
    """Convert the source of a module to a text that is the same on every version of Python.

    The text is the syntax tree without docstrings and without code for type checkers only. Of imports from the package
    only the imported names count, not the modules they come from.
    """
    imported: set[str] = set()
    text = _text(ast.parse(source), imported)
    return f"{text} {' '.join(sorted(imported))}"


def same_computation(one: str, other: str) -> bool:
    """Return whether two recorded versions of the code compute the same results.

    Args:
        one: The value of `code` in a result; for a resumed run, several versions separated by commas.
        other: Another such value.
    """
    return _groups_of(one) == _groups_of(other)


def is_one_version(code: str) -> bool:
    """Return whether a recorded value of `code` names versions that all compute the same results."""
    return len(_groups_of(code)) == 1


@cache
def listed_digests() -> dict[str, int]:
    """Read `code_versions.yaml`: the number of its group for each digest."""
    groups = parse_yaml(Path(__file__).with_name("code_versions.yaml").read_text("utf-8"))
    return {entry["digest"]: number for number, group in enumerate(groups) for entry in group["digests"]}


def _groups_of(code: str) -> set[int | str]:
    """Return the groups of the versions in a result; a digest that is not listed forms a separate group."""
    digests = [version.split()[-1] for version in code.split(",") if version.strip()]
    return {listed_digests().get(digest, digest) for digest in digests}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _text(node: ast.AST, imported: set[str]) -> str:
    """Convert a node of a syntax tree to text. Returns empty text if the node has no effect.

    Empty fields are left out, because newer versions of Python add some.

    Args:
        node: The node.
        imported: Receives the names that are imported from the package.
    """
    match node:
        case ast.Constant() | ast.MatchSingleton():
            return ascii(node.value)  # `repr` depends on the version's table of printable characters
        case ast.Expr(ast.Constant(str())):
            return ""  # a docstring
        case ast.JoinedStr():  # Python 3.12 adds empty texts to a format such as `{x:{width}}`
            values = [value for value in node.values if not isinstance(value, ast.Constant) or value.value]
            return f"JoinedStr({_list_text(values, imported)})"
        case ast.If(ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return _list_text(node.orelse, imported)
        case ast.Import() | ast.ImportFrom():
            return _import_text(node, imported)
    fields = []
    for name, value in ast.iter_fields(node):
        if not value or name == "ctx":  # load, store or delete, which the parent node implies
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
        imported.update(alias.asname or "casper" for alias in node.names if _in_package(alias.name))
        return "; ".join(f"import {name}" for name in names if not _in_package(name))
    if node.level or _in_package(node.module or ""):
        imported.update(names)
        return ""
    return "; ".join(f"from {node.module} import {name}" for name in names if name != "TYPE_CHECKING")


def _in_package(module: str) -> bool:
    return re.match(r"casper\b", module) is not None
