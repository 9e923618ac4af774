"""Settings that suit a stream, shipped with the package, and how they follow other choices."""

from collections.abc import Mapping
from typing import Any

from casper.experiments.config import flattened
from casper.experiments.protocols import by_owner, packaged


def preset(stream: str, method: str) -> list[tuple[dict[str, Any], str]]:
    """Look up the settings for a stream and, where it has any, its line for a method.

    Returns:
        Layers of values by dotted key, each with what `config.yaml` says about its origin; none: there is no preset.
    """
    layout = dict(packaged("presets.yaml").get(stream, {}))
    lines = layout.pop("methods", None)
    layers = [(flattened(layout), layout["origin"])] if layout else []
    if lines is not None:
        line = by_owner(method, lines.get(method, lines["other"]))
        layers.append(({"batch_size": layout["batch_size"], **line}, lines["origin"]))
    return layers


def unpublished_values(stream: str, method: str) -> tuple[dict[str, Any], str]:
    """Look up the settings of a method that the paper's tables have without them; they are the same on every stream.

    They are stronger than a protocol's, whose rates are for the other methods.

    Returns:
        Values by dotted key, and their origin; empty: there are none, or a line in the stream's preset says better.
    """
    line = dict(packaged("paper.yaml")["every stream"].get(method, {}))
    if not line or method in packaged("presets.yaml").get(stream, {}).get("methods", {}):
        return {}, ""
    origin = line.pop("origin")
    return by_owner(method, line), origin


def fitted_to_batch(values: Mapping[str, Any], batch_size: int, neighbors: int | None = None) -> dict[str, Any]:
    """Adapt CaSpeR's draw to another batch size: k stays, p = max(2, b // k).

    The rule by which settings found at one batch size are carried to another, where none are published.

    Args:
        values: Settings by dotted key, their batch size among them.
        batch_size: The batch size b of the run.
        neighbors: The k that was chosen elsewhere; None: that of the settings.
    """
    neighbors = neighbors or values.get("casper.num_neighbors")
    if not isinstance(neighbors, int) or neighbors < 1 or values.get("batch_size") == batch_size:
        return dict(values)
    owners = [key for key in values if key.endswith(".num_classes")]
    return {**values, **dict.fromkeys(owners, max(2, batch_size // neighbors))}


def fitted_to_epochs(values: Mapping[str, Any], epochs: int) -> dict[str, Any]:
    """Adapt a schedule to another number of epochs: milestones keep their place in the task, none at its end."""
    if not values.get("milestones") or values.get("epochs") == epochs:
        return dict(values)
    moved = [round(milestone * epochs / values["epochs"]) for milestone in values["milestones"]]
    # Two that fall on one epoch stay two: the rate falls twice there.
    return {**values, "milestones": [milestone for milestone in moved if 1 <= milestone < epochs]}
