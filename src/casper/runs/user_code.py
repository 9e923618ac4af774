"""The user's own classes in a run: the name of each, a digest of its code, and whether that has changed since.

The digest covers the module that the configuration names, those in which the class and its bases are defined, and the
modules of its package that these import, also inside functions and indirectly. For a module outside any package, the
modules next to it count as its package. As in `code_version`, docstrings, comments and layout have no effect. Modules
are read as text; none is imported for it. A trunk from a file counts as a class of the user's, with all its bytes.
"""

import ast
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from casper.config.errors import ConfigError
from casper.config.options import RunConfig
from casper.config.registry import custom_parts, find_part, parts_with_code
from casper.files import read
from casper.runs.code_version import code_version, module_text, same_computation
from casper.runs.directory import RunDirectory

if TYPE_CHECKING:
    from casper.streams import TaskStream

# For each class, by its name in the configuration: its `name`, and its `digest` (several if the run was resumed).
UserCode = dict[str, dict[str, str]]
# stale: the user's code has changed. unrecorded: the run does not record it. other: made by another version of casper.
Outdated = Literal["stale", "unrecorded", "other"]
UNKNOWN = "unknown"
_LOADED: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
_INSTALLED = ("site-packages", "dist-packages")


def user_code(config: RunConfig) -> UserCode:
    """Describe the user's classes of a run, with the digest of the present source of each.

    Example:
        >>> from casper.config import resolve_config
        >>> from casper.runs.user_code import user_code
        >>> user_code(resolve_config({"method": "er"}))
        {}
    """
    classes = {
        name: {"name": _title(part), "digest": _digest_of(part, name.partition(":")[0])}
        for name, part in _parts_of(config).items()
    }
    files = {
        name: {"name": name, "digest": _sha256(_read(Path(name.partition(":")[2]).expanduser()))[:10]}
        for _, name in parts_with_code(config.options.model_dump())
        if name not in classes
    }
    return {**classes, **files}


def loaded_user_code(config: RunConfig) -> UserCode:
    """Describe the user's classes that this process executes: each as it was at its first use in the process.

    A file that is changed later, as in a notebook, has no effect on a class that was imported already.
    """
    now = user_code(config)
    for name, part in _parts_of(config).items():
        now[name]["digest"] = _LOADED.setdefault(part, now[name]["digest"])
    return now


def weights_of(trunk: str, stream: "TaskStream") -> dict[str, str]:
    """Describe a trunk by the checksum of its weights, which may differ between versions of the package with them."""
    return {"name": trunk, "digest": stream.weights[:10]}


def _parts_of(config: RunConfig) -> dict[str, Any]:
    return {name: find_part(kind, name) for kind, name in custom_parts(config.options.model_dump())}


def recorded_user_code(record: Mapping[str, Any]) -> UserCode:
    """Read the user's classes from the content of `metrics.json`, `environment.json` or a checkpoint."""
    found = record.get("user_code")
    entries = found.items() if isinstance(found, Mapping) else ()
    return {
        str(part): {key: str(entry.get(key, UNKNOWN)) for key in ("name", "digest")}
        for part, entry in entries
        if isinstance(entry, Mapping)
    }


def joined_user_code(earlier: UserCode, now: UserCode) -> UserCode:
    """Add the present digests to those of the run so far, for a run that is resumed."""
    joined = {}
    for part, entry in now.items():
        digests = earlier.get(part, {"digest": UNKNOWN})["digest"].split(", ")
        joined[part] = {**entry, "digest": ", ".join(dict.fromkeys([*digests, entry["digest"]]))}
    return joined


def changed_parts(earlier: UserCode, now: UserCode) -> list[str]:
    """List the classes whose code is not the one recorded, or not the only one."""
    return [part for part in now if part in earlier and earlier[part]["digest"] != now[part]["digest"]]


def outdated(directory: RunDirectory, now: UserCode) -> Outdated | None:
    """Compare the code behind a run with the present one. Returns None if it is the same.

    Args:
        directory: A run. A finished one has a record in `metrics.json`, an unfinished one in `environment.json`; of an
            unfinished run without a record nothing is said, since it records both versions when it is resumed.
        now: The user's classes of the run, with their present digests.
    """
    finished = directory.metrics.exists()
    try:
        records = [directory.read_metrics()] if finished else _environments(directory)
    except ConfigError:
        return None
    earlier = [recorded_user_code(record) for record in records]
    if any(changed_parts(each, now) for each in earlier):
        return "stale"
    if finished and not now.keys() <= earlier[0].keys():
        return "unrecorded"
    codes = [str(record.get("code", UNKNOWN)) for record in records if finished or "code" in record]
    return "other" if not all(same_computation(code, code_version()) for code in codes) else None


def _environments(directory: RunDirectory) -> list[dict[str, Any]]:
    """Read the environments in which an unfinished run was started and resumed."""
    first = directory.read_environment()
    later = first.get("resumed")
    return [first, *(each for each in (later if isinstance(later, list) else ()) if isinstance(each, dict))]


def _title(part: Any) -> str:
    name = getattr(part, "name", None)
    return name if isinstance(name, str) else str(part.__name__)


def _digest_of(part: Any, module: str) -> str:
    """Compute the digest of a class or function of an imported module, ten hexadecimal digits."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not Path(file).is_file():
        return UNKNOWN  # defined at the prompt of the interpreter, or in an archive
    defined = [str(each.__module__) for each in getattr(part, "__mro__", (part,))]
    texts = dict(_texts(module, Path(file), defined))
    return _sha256("\n".join(f"{name} {texts[name]}" for name in sorted(texts)).encode())[:10]


def _texts(module: str, file: Path, defined: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and a digest of a module, and of each module of its package that it imports.

    Args:
        module: The module's name.
        file: Its source.
        defined: Further modules, which count if they are of the same package.
    """
    package, depth = module.partition(".")[0], module.count(".") + (file.stem == "__init__")
    root = file.parents[min(depth, len(file.parents) - 1)]
    alone = root.name not in _INSTALLED  # what else is in the folder is the user's too
    waiting, seen = [(module, file)], {module}
    for target in defined:
        if _counts(target, package, alone) and target not in seen and (source := _source(root, target)) is not None:
            waiting.append((target, source))
            seen.add(target)
    while waiting:
        name, path = waiting.pop()
        content, imports = _read(path), []
        try:
            text = module_text(content)
            imports = [*_imported(ast.parse(content), name if path.stem == "__init__" else name.rpartition(".")[0])]
        except (SyntaxError, ValueError, RecursionError):  # no Python source
            text = _sha256(content)
        ours, bound = {}, set()
        for target, otherwise, alias in imports:
            if _counts(target, package, alone):
                found = target if _source(root, target) else otherwise
                if (source := _source(root, found)) is not None:
                    ours[found] = source
                    bound.add(f"{target} as {alias}")
        yield name, _sha256(f"{sorted(bound)} {text}".encode())
        waiting += [(target, source) for target, source in ours.items() if target not in seen]
        seen |= ours.keys()


def _counts(module: str, package: str, alone: bool) -> bool:
    """Return whether a module can be the user's: in the same package, or next to it outside any installed package."""
    top = module.partition(".")[0]
    return top != "casper" and (top == package or alone)


def _imported(node: ast.AST, package: str) -> Iterator[tuple[str, str, str]]:
    """Yield what a syntax tree imports: a name, the module it is in if it is not a module itself, and its alias.

    Args:
        node: The tree.
        package: The package to which relative imports refer.
    """
    match node:
        case ast.If(ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            for statement in node.orelse:
                yield from _imported(statement, package)
        case ast.Import():
            for alias in node.names:
                parts = alias.name.split(".")
                names = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
                yield from ((name, name, alias.asname or "") for name in names)
        case ast.ImportFrom():
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join(filter(None, [*above, node.module]))
            yield from ((f"{source}.{alias.name}", source, alias.asname or "") for alias in node.names)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _imported(child, package)


def _source(root: Path, module: str) -> Path | None:
    """Find the source of a module below a folder. Returns None if it is not there."""
    place = root.joinpath(*module.split("."))
    return next((file for file in (place / "__init__.py", place.with_name(f"{place.name}.py")) if file.is_file()), None)


def _read(path: Path) -> bytes:
    try:
        return read(path)
    except OSError:
        return b""


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
