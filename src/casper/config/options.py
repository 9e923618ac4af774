"""The configuration of a run: every setting that can change its result, and where each came from."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from casper.config.errors import ConfigError, brief


class Options(BaseModel):
    """The options of a run, with their defaults where neither the user nor the stream's preset says otherwise.

    The options of `casper run` are made of these fields and their descriptions.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    stream: str = Field(
        "split-digits",
        description="See `casper list streams`; or images of your own: `folder:PATH`, `npz:FILE`, `hub:OWNER/NAME`. "
        "Default: split-digits.",
    )
    tasks: int | None = Field(None, ge=1, lt=2**31, description="Number of tasks; a divisor of the number of classes.")
    class_order: Literal["label", "shuffled"] | list[int] | None = Field(
        None, description="`label`: as numbered. `shuffled`: by the seed. Default: label."
    )
    image_size: int | None = Field(None, ge=1, lt=2**31, description="Scale images to N x N. Default: as they are.")
    method: str = Field("er-ace", description="See `casper list methods`. Default: er-ace.")
    regularizer: list[str] = Field(
        ["casper"], description="A term added to the method's loss, or `none`; may be repeated. Default: casper."
    )
    backbone: str = Field("convnet", description="See `casper list backbones`. Default: convnet.")
    buffer_size: int = Field(200, ge=0, lt=2**31, description="How many items the memory holds.")
    epochs: int = Field(5, ge=1, lt=2**31, description="Passes over each task.")
    batch_size: int = Field(32, ge=1, lt=2**31, description="Stream items in a step, and replayed ones.")
    lr: float = Field(0.1, gt=0, lt=1e38, description="Learning rate of the method's optimizer.")
    milestones: list[Annotated[int, Field(ge=1)]] = Field(
        [], description="Epochs of each task after which the learning rate is multiplied by gamma."
    )
    gamma: float = Field(0.1, gt=0, description="What the learning rate is multiplied by at a milestone.")
    seed: int = Field(0, ge=0, lt=2**63, description="Determines everything random. Default: 0.")
    precision: Literal["fp32", "bf16"] = Field("fp32", description="fp32 or bf16. Default: fp32.")
    recalibrate: bool = Field(
        False,
        description="Evaluate a second time after every task, with BatchNorm statistics recomputed from the memory.",
    )
    validation: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Hold this fraction of the training images out and test on it; the test images are not looked at.",
    )
    labels: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Keep this fraction of each class's training labels and hide the others; for er-ace, pser-ace and "
        "ccic.",
    )
    labels_per_class: int | None = Field(
        None, ge=1, lt=2**31, description="Keep N labels of each class and hide the others; instead of --labels."
    )


@dataclass(frozen=True)
class RunConfig:
    """A run, completely described by plain values.

    Attributes:
        options: Its options.
        hyper: Hyper-parameters by owner: the method, each regularizer and the stream under their names, and `backbone`.
        origin: Where each value came from, by dotted key.
        notes: What the user should be told about how it came about.
    """

    options: Options
    hyper: Mapping[str, Mapping[str, Any]]
    origin: Mapping[str, str] = field(default_factory=dict, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Lay it out as in `config.yaml`, without the origins."""
        layout = self.options.model_dump()
        layout["backbone"] = {"name": self.options.backbone, **self.hyper.get("backbone", {})}
        layout.update({owner: dict(values) for owner, values in self.hyper.items() if values and owner != "backbone"})
        return layout

    @property
    def hash(self) -> str:
        """Eight hexadecimal digits that name this configuration."""
        return layout_hash(self.as_dict())

    @property
    def name(self) -> str:
        """STREAM-METHOD-REGULARIZER-SEED-HASH, safe as the name of a directory."""
        regularizers = "+".join(self.options.regularizer) or "none"
        text = f"{self.options.stream}-{self.options.method}-{regularizers}-{self.options.seed}-{self.hash}"
        return "".join(character if character.isalnum() or character in "-+._" else "_" for character in text)


def layout_hash(layout: Mapping[str, Any]) -> str:
    """Name a configuration in the layout of `config.yaml`, whose origins do not count.

    What is not set (null) does not count either: an option that comes with a later version, and is not set, leaves the
    names of earlier runs as they are.
    """
    plain = {key: value for key, value in flattened(layout).items() if value is not None}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:8]


def differing(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Name the settings in which two configurations in the layout of `config.yaml` differ, with both values."""
    first, second = flattened(there), flattened(here)

    def shown(settings: Mapping[str, Any], key: str) -> str:
        return brief(settings[key]) if settings.get(key) is not None else "not set"

    return [
        f"{key} ({shown(first, key)} there, {shown(second, key)} here)"
        for key in sorted(first.keys() | second.keys())
        if first.get(key) != second.get(key)
    ]


def flattened(layout: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the layout of `config.yaml` into dotted keys: `lr`, `backbone`, `backbone.width`, `casper.weight`."""
    flat: dict[str, Any] = {}
    for key, value in layout.items():
        if not isinstance(key, str):
            raise ConfigError(f"a configuration's keys must be text, but got {key!r}")
        if key == "origin":
            continue
        if not isinstance(value, Mapping) or (not value and key in Options.model_fields):
            flat[key] = value
            continue
        for name, inner in value.items():
            dotted = "backbone" if (key, name) == ("backbone", "name") else f"{key}.{name}"
            if dotted in flat or (dotted != key and dotted in layout):
                raise ConfigError(f"{brief(dotted)} must be given once, but got it twice")
            flat[dotted] = inner
    return flat
