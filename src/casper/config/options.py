"""The configuration of a run: every setting that can change its result, and the origin of each."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from casper.config.errors import ConfigError, brief

MOST_THREADS = 1024  # of a run


class Options(BaseModel):
    """The options of a run, with the defaults that apply if neither the user nor a preset sets a value.

    `casper run` derives its command-line options and their help from these fields and descriptions.

    Example:
        >>> from casper.config import Options
        >>> options = Options(method="der++", epochs=2)
        >>> options.epochs, options.stream
        (2, 'split-digits')
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    stream: str = Field(
        "split-digits",
        description="Stream name, see `casper list streams`, or images of yours: `folder:PATH`, `npz:FILE` or "
        "`hub:NAME`. Default: split-digits.",
    )
    tasks: int | None = Field(
        None, ge=1, lt=2**31, description="Number of tasks; classes are split evenly. Default: the stream's."
    )
    class_order: Literal["label", "shuffled"] | list[int] | None = Field(
        None, description="`label`: as numbered; `shuffled`: by the seed. Default: label."
    )
    image_size: int | None = Field(
        None, ge=1, lt=2**31, description="Resize images to N x N. Default: the protocol's, or the original size."
    )
    method: str = Field("er-ace", description="Method name, see `casper list methods`. Default: er-ace.")
    regularizer: list[str] = Field(
        ["casper"], description="Term added to the loss, or `none`; repeatable. Default: casper."
    )
    backbone: str = Field(
        "convnet", description="Network name, see `casper list backbones`. Default: the protocol's, or convnet."
    )
    trunk: str | None = Field(
        None,
        description="Frozen, pre-trained network in front of the backbone, see `casper list trunks`. "
        "Default: none, or the protocol's.",
    )
    buffer_size: int = Field(
        200,
        ge=0,
        lt=2**31,
        description="Number of examples that the memory stores, or its size, such as 64MB. Default: the preset's.",
    )
    epochs: int = Field(
        5, ge=1, lt=2**31, description="Passes over the training images of each task. Default: the preset's."
    )
    batch_size: int = Field(
        32, ge=1, lt=2**31, description="Stream images per step; as many are replayed. Default: the preset's."
    )
    lr: float = Field(0.1, gt=0, lt=1e38, description="Learning rate of the method's optimizer. Default: the preset's.")
    milestones: list[Annotated[int, Field(ge=1)]] = Field(
        [], description="Epochs of a task after which `gamma` multiplies the rate."
    )
    gamma: float = Field(0.1, gt=0, description="Factor on the learning rate at each milestone.")
    seed: int = Field(0, ge=0, lt=2**63, description="Seed of everything random in the run. Default: 0.")
    precision: Literal["fp32", "bf16"] = Field("fp32", description="Training precision, fp32 or bf16. Default: fp32.")
    recalibrate: bool = Field(False, description="Also evaluate with BatchNorm recomputed from the memory.")
    validation: float | None = Field(
        None, gt=0, lt=1, description="Test on this fraction of the training images, held out."
    )
    labels: float | None = Field(
        None, gt=0, lt=1, description="Fraction of labels to keep in each class; hide the rest."
    )
    labels_per_class: int | None = Field(
        None, ge=1, lt=2**31, description="Number of labels to keep in each class; hide the rest."
    )


@dataclass(frozen=True)
class RunConfig:
    """The complete configuration of a run, as plain values; `resolve_config` builds it.

    Attributes:
        options: The options.
        hyper: Hyper-parameters by owner: the method, each regularizer and the stream under their names, `backbone` and
            `trunk`.
        origin: The origin of each value, by dotted key.
        notes: Messages for the user about values that were adapted.

    Example:
        >>> from casper.config import resolve_config
        >>> config = resolve_config({"method": "er", "casper.weight": 0.1})
        >>> config.hyper["casper"]["weight"], config.origin["casper.weight"]
        (0.1, 'user')
        >>> config.name.startswith("split-digits-er-casper-0-")
        True
    """

    options: Options
    hyper: Mapping[str, Mapping[str, Any]]
    origin: Mapping[str, str] = field(default_factory=dict, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the nested layout of `config.yaml`, without the origins."""
        layout = self.options.model_dump()
        for part, name in (("backbone", self.options.backbone), ("trunk", self.options.trunk)):
            layout[part] = None if name is None else {"name": name, **self.hyper.get(part, {})}
        layout.update({owner: dict(values) for owner, values in self.hyper.items() if values and owner not in layout})
        return layout

    @property
    def hash(self) -> str:
        """Eight hexadecimal digits that identify this configuration."""
        return layout_hash(self.as_dict())

    @property
    def name(self) -> str:
        """The name STREAM-METHOD-REGULARIZER-SEED-HASH, which is safe as a directory name."""
        regularizers = "+".join(self.options.regularizer) or "none"
        text = f"{self.options.stream}-{self.options.method}-{regularizers}-{self.options.seed}-{self.hash}"
        return "".join(character if character.isalnum() or character in "-+._" else "_" for character in text)


def layout_hash(layout: Mapping[str, Any]) -> str:
    """Hash a configuration in the layout of `config.yaml`, without its origins.

    Values that are not set (null) are left out of the hash. The names of existing runs therefore stay the same when a
    later version adds an option.
    """
    plain = {key: value for key, value in flattened(layout).items() if value is not None}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:8]


def differing(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """List the settings that differ between two configurations in the layout of `config.yaml`, with both values."""
    first, second = flattened(there), flattened(here)

    def value(settings: Mapping[str, Any], key: str) -> str:
        return brief(settings[key]) if settings.get(key) is not None else "not set"

    return [
        f"{key} ({value(first, key)} there, {value(second, key)} here)"
        for key in sorted(first.keys() | second.keys())
        if first.get(key) != second.get(key)
    ]


def flattened(layout: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the layout of `config.yaml` to dotted keys: `lr`, `backbone`, `backbone.width`, `casper.weight`.

    Raises:
        ConfigError: If a key is not text, or is given twice.

    Example:
        >>> from casper.config import flattened
        >>> flattened({"lr": 0.1, "backbone": {"name": "mlp"}, "casper": {"weight": 0.01}})
        {'lr': 0.1, 'backbone': 'mlp', 'casper.weight': 0.01}
    """
    flat: dict[str, Any] = {}
    for key, value in layout.items():
        if not isinstance(key, str):
            raise ConfigError(f"the keys of a configuration must be text, but got {key!r}")
        if key == "origin":
            continue
        if not isinstance(value, Mapping) or (not value and key in Options.model_fields):
            flat[key] = value
            continue
        for name, inner in value.items():
            dotted = key if key in ("backbone", "trunk") and name == "name" else f"{key}.{name}"
            if dotted in flat or (dotted != key and dotted in layout):
                raise ConfigError(f"{brief(dotted)} must be given once, but is given twice")
            flat[dotted] = inner
    return flat
