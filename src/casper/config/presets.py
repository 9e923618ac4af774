"""Settings that come with the package: protocols, the hyper-parameters of the paper, presets of streams."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

from casper.config.errors import ConfigError
from casper.config.options import flattened
from casper.config.yaml import parse_yaml

Protocol = Literal["paper", "desk", "pretrained"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)


@cache
def packaged(name: str, folder: str = "casper.config") -> Any:
    """Read a YAML file of the package."""
    return parse_yaml(resources.files(folder).joinpath(name).read_text("utf-8"))


def usual_protocol(stream: str) -> Protocol | None:
    """Return the default protocol of a stream: `"paper"` for the streams of the paper, None for others.

    Example:
        >>> from casper.config import usual_protocol
        >>> usual_protocol("split-cifar100"), usual_protocol("split-digits")
        ('paper', None)
    """
    return "paper" if stream in packaged("protocols.yaml")["paper"] else None


def protocol_values(protocol: Protocol, stream: str, method: str) -> dict[str, Any]:
    """Look up the values that a protocol sets on a stream for a method, by dotted key.

    The desk protocol sets nothing on streams that are not in the paper; the pretrained protocol is for every stream.

    Raises:
        ConfigError: If the paper's protocol is used on a stream that is not in the paper.
    """
    known = packaged("protocols.yaml")[protocol]
    shared = dict(known.get("every stream", {}))
    lines = shared.pop("methods", {})
    line = by_owner(method, lines.get(method, lines["other"])) if lines else {}
    if stream in known or shared:
        return {**flattened(shared), **line, **flattened(known.get(stream, {}))}
    if protocol == "paper":
        raise ConfigError(f"--protocol paper needs a stream of the paper ({', '.join(known)}), but got {stream}")
    return {}


def paper_values(
    stream: str, method: str, regularizers: Sequence[str], buffer_size: int | None
) -> tuple[dict[str, Any], str]:
    """Look up the paper's learning rate, hyper-parameters and CaSpeR settings for a run.

    Args:
        stream: The stream's name.
        method: The method's name.
        regularizers: The regularizers' names.
        buffer_size: The size of the memory, or None for a method without a memory.

    Returns:
        Values by dotted key, and their origin. There are no values if the stream is not in the paper.
    """
    lines = packaged("paper.yaml").get(stream)
    if lines is None:
        return {}, ""
    size: int | str = "no buffer" if buffer_size is None else _nearest(lines, buffer_size)
    written = method if method in lines[size] else "finetune" if buffer_size is None else "er-ace"
    kind = "casper" if {"casper", "forward-only"} & {*regularizers} and "casper" in lines[size][written] else "plain"
    origin = f"{lines.get('origin', 'paper')} {stream} {size} {written} {kind}"
    if written != method:
        origin = f"{origin}, for want of its own" if "origin" in lines else f"not published, lent by {origin}"
    if buffer_size not in (size, None):
        origin = f"{origin}, nearest buffer {size}"
    batch_size = packaged("protocols.yaml")["paper"][stream]["batch_size"]
    # From the line of another method only the learning rate and CaSpeR's settings apply; its hyper-parameters are
    # ignored by this method.
    return {"batch_size": batch_size, **by_owner(written, lines[size][written][kind])}, origin


def by_owner(method: str, line: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a line of settings to dotted keys: `lr`, those of the method, and `casper.*`.

    The control `forward-only` draws as many classes as CaSpeR.
    """
    of_method = {f"{method}.{key}": value for key, value in line.items() if key not in ("lr", "casper")}
    casper = {f"casper.{key}": value for key, value in line.get("casper", {}).items()}
    control = {"forward-only.num_classes": line["casper"]["num_classes"]} if "casper" in line else {}
    return {"lr": line["lr"], **of_method, **casper, **control}


def _nearest(lines: Mapping[Any, Any], buffer_size: int) -> int:
    """Find the nearest memory size that has lines; of two equally near, the smaller."""
    return min((size for size in lines if isinstance(size, int)), key=lambda size: (abs(size - buffer_size), size))


def preset(stream: str, method: str) -> list[tuple[dict[str, Any], str]]:
    """Look up the preset of a stream and, if the stream has one, its line for a method.

    Returns:
        Layers of values by dotted key, each with the origin that `config.yaml` records; empty if there is no preset.
    """
    layout = dict(packaged("presets.yaml").get(stream, {}))
    lines = layout.pop("methods", None)
    layers = [(flattened(layout), layout["origin"])] if layout else []
    if lines is not None:
        line = by_owner(method, lines.get(method, lines["other"]))
        layers.append(({"batch_size": layout["batch_size"], **line}, lines["origin"]))
    return layers


def unpublished_values(stream: str, method: str) -> tuple[dict[str, Any], str]:
    """Look up the settings of a method in the paper's tables whose settings the paper does not publish.

    They are the same on every stream. They take precedence over a protocol, whose rates are for the other methods.

    Returns:
        Values by dotted key, and their origin. Empty if there are none, or if the preset of the stream has a line for
        the method.
    """
    line = dict(packaged("paper.yaml")["every stream"].get(method, {}))
    if not line or method in packaged("presets.yaml").get(stream, {}).get("methods", {}):
        return {}, ""
    origin = line.pop("origin")
    return by_owner(method, line), origin


def fitted_to_batch(values: Mapping[str, Any], batch_size: int, neighbors: int | None = None) -> dict[str, Any]:
    """Adapt CaSpeR's number of classes p to another batch size b: p = max(2, b // k), with the same k.

    This rule transfers settings from one batch size to another for which none are published.

    Args:
        values: Settings by dotted key, including their batch size.
        batch_size: The batch size b of the run.
        neighbors: The value of k from a layer of higher precedence. Default: that of the settings.
    """
    neighbors = neighbors or values.get("casper.num_neighbors")
    if not isinstance(neighbors, int) or neighbors < 1 or values.get("batch_size") == batch_size:
        return dict(values)
    owners = [key for key in values if key.endswith(".num_classes")]
    return {**values, **dict.fromkeys(owners, max(2, batch_size // neighbors))}


def fitted_to_epochs(values: Mapping[str, Any], epochs: int) -> dict[str, Any]:
    """Adapt a schedule to another number of epochs: milestones keep their relative position in the task.

    Milestones that fall on the end of the task are dropped.
    """
    if not values.get("milestones") or values.get("epochs") == epochs:
        return dict(values)
    moved = [round(milestone * epochs / values["epochs"]) for milestone in values["milestones"]]
    # Two milestones on the same epoch both stay: the rate is reduced twice there.
    return {**values, "milestones": [milestone for milestone in moved if 1 <= milestone < epochs]}
