"""Read and write plain YAML: values only, no tags that construct objects."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from casper.config.errors import ConfigError, brief
from casper.config.options import flattened
from casper.files import read

# Longer file names, which most systems do not allow, are abbreviated in error messages.
_LONGEST_NAME = 1000
_LONGEST_INTEGER = 1000


class _Loader(yaml.SafeLoader):
    """The safe loader, which also reads `1e-3` as a number (YAML 1.1 requires `1.0e-3`).

    It refuses duplicate keys, and aliases: a few lines of aliases can expand to gigabytes.
    """

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not accepted")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        names = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        if twice := [name for name, times in names.items() if times > 1]:
            raise yaml.YAMLError(f"the key {twice[0]!r} is given twice")
        return super().construct_mapping(node, deep)


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    value: int = loader.construct_yaml_int(node)
    if value.bit_length() > _LONGEST_INTEGER:  # Python does not print integers of more than 4,300 digits
        raise yaml.YAMLError(f"an integer must have at most {_LONGEST_INTEGER} bits, but got {value.bit_length()}")
    return value


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


class _Dumper(yaml.SafeDumper):
    """The safe dumper, without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def parse_yaml(text: str) -> Any:
    """Parse YAML; raises `yaml.YAMLError` for every kind of error in the text."""
    try:
        return yaml.load(text, _Loader)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise yaml.YAMLError(f"{type(error).__name__}: {error}") from error


def _reason(error: Exception) -> str:
    """Say in one line what is wrong with a YAML text, and where."""
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"  # type: ignore[attr-defined]
    return " ".join(str(error).replace(' in "<unicode string>"', "").split())


def read_layout(path: Path) -> dict[str, Any]:
    """Read a YAML file that contains a mapping, such as the `config.yaml` of a run.

    Raises:
        ConfigError: If the file cannot be read, or does not contain a mapping.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from casper.config import read_layout
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "settings.yaml"
        ...     _ = file.write_text("lr: 1e-3\\ncasper: {weight: 0.01}")
        ...     read_layout(file)
        {'lr': 0.001, 'casper': {'weight': 0.01}}
    """
    try:
        layout = parse_yaml(read(path, pipe=True).decode())
    except OSError as error:
        name = str(path) if len(str(path)) <= _LONGEST_NAME else brief(str(path))
        raise ConfigError(f"{name} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} must be plain YAML, but {_reason(error)}") from error
    if not isinstance(layout, dict):
        found = "an empty file" if layout is None else type(layout).__name__
        raise ConfigError(f"{path} must contain a mapping of keys to values, but got {found}")
    return layout


def to_yaml(layout: Mapping[str, Any]) -> str:
    """Format a mapping as YAML, in the order of its keys.

    Example:
        >>> from casper.config import to_yaml
        >>> print(to_yaml({"lr": 0.1, "casper": {"weight": 0.01}}), end="")
        lr: 0.1
        casper:
          weight: 0.01
    """
    return yaml.dump(dict(layout), Dumper=_Dumper, sort_keys=False, allow_unicode=True)


# Values by dotted key, and the origin that `config.yaml` records for them.
Preset = tuple[dict[str, Any], str]


def read_preset(path: Path) -> Preset:
    """Read a preset file: some of the options and hyper-parameters of `config.yaml`. Raises `ConfigError`."""
    return flattened(read_layout(path)), f"preset {path.name}"
