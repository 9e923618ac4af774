"""Plain YAML: values only, never a tag that builds an object."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from casper.config.errors import ConfigError, brief
from casper.config.options import flattened

# Of a name longer than this, and no file has one in most systems, a complaint shows the ends.
_LONGEST_NAME = 1000


class _Loader(yaml.SafeLoader):
    """The safe loader, which also takes `1e-3` for a number (YAML 1.1 asks for `1.0e-3`) and refuses aliases
    and keys that are given twice.

    A few lines of aliases can stand for gigabytes; no configuration needs one.
    """

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not accepted")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if twice := [name for name in names if names.count(name) > 1]:
            raise yaml.YAMLError(f"the key {twice[0]!r} is given twice")
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


class _Dumper(yaml.SafeDumper):
    """The safe dumper, without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def parse_yaml(text: str) -> Any:
    """Read YAML; raises `yaml.YAMLError`, whatever it was that could not be read."""
    try:
        return yaml.load(text, _Loader)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise yaml.YAMLError(f"{type(error).__name__}: {error}") from error


def read_layout(path: Path) -> dict[str, Any]:
    """Read a file that holds a mapping, or raise `ConfigError` in one line."""
    try:
        layout = parse_yaml(path.read_text("utf-8"))
    except OSError as error:
        name = str(path) if len(str(path)) <= _LONGEST_NAME else brief(str(path))
        raise ConfigError(f"{name} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"{path} must be plain YAML; {reason}") from error
    if not isinstance(layout, dict):
        raise ConfigError(f"{path} must hold a mapping of keys to values, but got {type(layout).__name__}")
    return layout


def to_yaml(layout: Mapping[str, Any]) -> str:
    """Write a mapping in its own order."""
    return yaml.dump(dict(layout), Dumper=_Dumper, sort_keys=False, allow_unicode=True)


# Values by dotted key, and what `config.yaml` says about their origin.
Preset = tuple[dict[str, Any], str]


def read_preset(path: Path) -> Preset:
    """Read a preset: options and hyper-parameters as in `config.yaml`, as many as there are. Raises `ConfigError`."""
    return flattened(read_layout(path)), f"preset {path.name}"
