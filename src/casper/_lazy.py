"""Lazy imports: public names of a package are imported on first use (PEP 562)."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any


def has_source(package: str) -> bool:
    """Return whether the source of a package is available; without it, all names are imported at once."""
    return _source(package) is not None


def lazy_exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Create `__getattr__` and `__dir__` of a package from the imports in its `if TYPE_CHECKING ...:` block.

    The block is the only place that defines where a name comes from: type checkers read it directly, and at run time
    each name is imported on first use.
    """
    module = sys.modules[package]
    tree = ast.parse(_source(package) or "")
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: str(node.module) for node in imports for alias in node.names}

    def resolve(name: str) -> Any:
        if name in homes:
            value = getattr(import_module(homes[name]), name)
        elif not name.startswith("_") and PathFinder.find_spec(f"{package}.{name}", module.__path__):
            value = import_module(f"{package}.{name}")  # a module that is not imported yet
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(module, name, value)
        return value

    return resolve, lambda: sorted({*vars(module), *homes})


def _source(package: str) -> str | None:
    loader: Any = sys.modules[package].__spec__.loader  # type: ignore[union-attr]
    source: str | None = loader.get_source(package)
    return source
