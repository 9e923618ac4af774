"""Deprecated names: they work for one more release and emit a `DeprecationWarning`."""

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from operator import attrgetter
from pkgutil import get_data
from types import ModuleType
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)

TRAINER_ATTRIBUTES = {
    "tell": "notify",
    "book": "stopwatch.add",
    "pieces": "work",
    "data": "checksums",
    "fingerprint": "stream.checksums",
    "seconds": "stopwatch.run",
    "task_seconds": "stopwatch.task",
    **{name: f"evaluator.{name}" for name in ("record", "recalibrated_record", "statistics", "features", "latent")},
}


def warn_renamed(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Emit a `DeprecationWarning` that a name has changed."""
    warnings.warn(f"`{old}` is now `{new}`; the next release removes the old name", DeprecationWarning, stacklevel)


class renamed_attribute:  # noqa: N801 - used like `property`
    """Provide an attribute or method under its old name: `renamed_attribute("old", "new")`; `new` may be dotted."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner = owner

    def __get__(self, instance: Any, cls: type) -> Any:
        warn_renamed(f"{cls.__name__}.{self.old}", f"{cls.__name__}.{self.new}")
        derived = cls.__mro__[: cls.__mro__.index(self.owner)]
        if instance is None or any(self.old in vars(each) for each in derived):  # `super().old`: the one of this class
            return vars(self.owner)[self.new].__get__(instance, cls)
        return attrgetter(self.new)(instance)

    def __set__(self, instance: Any, value: Any) -> None:
        warn_renamed(f"{type(instance).__name__}.{self.old}", f"{type(instance).__name__}.{self.new}")
        place, _, name = self.new.rpartition(".")
        setattr(attrgetter(place)(instance) if place else instance, name, value)


def renamed_attributes(
    renamed: Mapping[str, str], arguments: Mapping[str, Mapping[str, str]] | None = None
) -> Callable[[_Class], _Class]:
    """Provide attributes and methods of a class under their old names, which subclasses may also override.

    Args:
        renamed: Maps each old name to the new one.
        arguments: For each method name, maps the old names of its arguments to the new ones.
    """

    def decorate(cls: Any) -> Any:
        for old, new in renamed.items():
            attribute = renamed_attribute(old, new)
            attribute.__set_name__(cls, old)
            setattr(cls, old, attribute)

        def init_subclass(derived: type, /, **kwargs: Any) -> None:
            super(cls, derived).__init_subclass__(**kwargs)
            _adopt_methods(derived, renamed)
            _adopt_arguments(derived, arguments or {})

        setattr(cls, "__init_subclass__", classmethod(init_subclass))  # noqa: B010
        return cls

    return decorate


def _adopt_methods(cls: type, renamed: Mapping[str, str]) -> None:
    """Bind methods that a subclass defines under an old name to the new name."""
    for old, new in renamed.items():
        if inspect.isfunction(vars(cls).get(old)) and new not in vars(cls):
            warn_renamed(f"{cls.__name__}.{old}", new, stacklevel=4)
            setattr(cls, new, vars(cls)[old])


def _adopt_arguments(cls: type, arguments: Mapping[str, Mapping[str, str]]) -> None:
    """Wrap methods that a subclass defines with old arguments so that they accept the new ones."""
    for method, renamed in arguments.items():
        function: Any = vars(cls).get(method)
        if inspect.isfunction(function):
            known = inspect.signature(function).parameters
            wanted = {new: old for old, new in renamed.items() if old in known and new not in known}
            if wanted:
                setattr(cls, method, _called_with(function, wanted))


def _called_with(function: Callable[..., Any], names: Mapping[str, str]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{names.get(name, name): value for name, value in kwargs.items()})

    return call


def renamed_arguments(**renamed: str) -> Callable[[_Function], _Function]:
    """Make a function accept arguments by their old names: `renamed_arguments(old="new")`."""

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def accept(*args: Any, **kwargs: Any) -> Any:
            for old in renamed.keys() & kwargs.keys():
                warn_renamed(f"{function.__qualname__}({old}=...)", f"{renamed[old]}=...")
                kwargs[renamed[old]] = kwargs.pop(old)
            return function(*args, **kwargs)

        return accept  # type: ignore[return-value]

    return decorate


# Modules and names that have moved


class _Table:
    """The renames of `renames.txt`.

    Attributes:
        modules: The modules that replace each removed module.
        names: Maps the old `module:name` of a moved name to the new one.
        packages: The packages, removed or not, from which modules were moved.
        touched: The modules from which names or modules were moved.
    """

    def __init__(self) -> None:
        self.modules: dict[str, list[str]] = {}
        self.names: dict[str, str] = {}
        text = (get_data("casper", "renames.txt") or b"").decode()
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            old, _, new = line.partition(" = ")
            module, colon, name = old.partition(":")
            if colon:
                self.names[f"casper.{old}"] = f"casper.{new}" if ":" in new else f"casper.{new}:{name}"
            elif new:
                self.modules[f"casper.{module}"] = [f"casper.{home}" for home in new.split()]
        self.packages = {old.rpartition(".")[0] for old in self.modules}
        self.touched = {old.partition(":")[0] for old in self.names} | self.packages

    def find(self, module: str, name: str) -> str | None:
        """Return the current `module:name` of a name of an old module, or None if there is none."""
        if (new := self.names.get(f"{module}:{name}")) is not None:
            return self.find(*new.split(":")) or new
        for home in self.modules.get(module, ()):
            found = self.find(home, name)
            if found or (home not in self.modules and _defines(import_module(home), name)):
                return found or f"{home}:{name}"
        return None


def _defines(module: ModuleType, name: str) -> bool:
    """Return whether a module defines a name that is not a submodule."""
    found = vars(module).get(name)
    return name in getattr(module, "__all__", vars(module)) or (found is not None and not isinstance(found, ModuleType))


_table = functools.cache(_Table)


class _Module(ModuleType):
    """A module that also resolves old names; a removed module has nothing else."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__" and self.__name__ in _table().modules:
            single = [old.rpartition(":")[2] for old in _table().names if old.startswith(f"{self.__name__}:")]
            return single + [each for home in _table().modules[self.__name__] for each in _public(import_module(home))]
        new = None if name.startswith("_") else _table().find(self.__name__, name)
        if new is None and f"{self.__name__}.{name}" in _table().modules:
            return import_module(f"{self.__name__}.{name}")  # an old submodule that is not imported yet
        if new is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        home, _, new_name = new.partition(":")
        value = attrgetter(new_name)(import_module(home))
        if sys._getframe(1).f_code.co_name != "_handle_fromlist":  # only a lookup; the import itself follows
            warn_renamed(f"{self.__name__}.{name}", f"{_front_door(home, new_name)}.{new_name}")
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """Keep `casper.losses.transplant` the function when the old module of the same name is imported."""
        is_old = isinstance(value, _Module) and value.__name__ in _table().modules
        if not (is_old and (_defines(self, name) or _table().find(self.__name__, name))):
            super().__setattr__(name, value)


def _public(module: ModuleType) -> list[str]:
    """List the names that `from module import *` imports, except modules."""
    names = getattr(module, "__all__", vars(module))
    return [name for name in names if not name.startswith("_") and _defines(module, name)]


def _front_door(module: str, name: str) -> str:
    """Return the outermost package that exports a name of a module."""
    parts = module.split(".")
    packages = [".".join(parts[:length]) for length in range(1, len(parts))]
    first = name.partition(".")[0]
    return next((each for each in packages if first in getattr(sys.modules[each], "__all__", ())), module)


class _Finder:
    """A meta path finder for removed modules and for modules with moved names."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find removed and touched modules of this package; return None for all others."""
        if not name.startswith("casper."):
            return None
        if name in _table().modules:
            return ModuleSpec(name, self, is_package=name in _table().packages)  # type: ignore[arg-type]
        if name not in _table().touched:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader.create_module = self.create_module  # type: ignore[method-assign]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Create an empty module that resolves old names."""
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Warn about a removed module; a package does not warn, because its names and submodules do."""
        if hasattr(module, "__path__"):
            return
        frame, stacklevel = sys._getframe(1), 3
        while frame.f_back is not None and _imports(name := frame.f_globals.get("__name__", "")):
            stacklevel += "_bootstrap" not in name  # `warnings` skips these frames itself
            frame = frame.f_back
        warn_renamed(module.__name__, "`, `".join(_table().modules[module.__name__]), stacklevel=stacklevel)


def _imports(module: str) -> bool:
    """Return whether a module is part of the import system, like this one."""
    return module == __name__ or module.split(".")[0] == "importlib"


def find_old_names() -> None:
    """Install the finder of old modules and names."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
