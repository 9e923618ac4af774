"""Settings that suit a stream, shipped with the package."""

from importlib import resources
from typing import Any

from casper.experiments.config import flattened
from casper.experiments.yaml_files import parse_yaml


def preset(stream: str) -> tuple[dict[str, Any], str]:
    """Look up the settings for a stream.

    Returns:
        Values by dotted key (empty: there is no preset) and what `config.yaml` says about their origin.
    """
    packaged = parse_yaml(resources.files("casper.experiments").joinpath("presets.yaml").read_text("utf-8"))
    layout = packaged.get(stream, {})
    return flattened(layout), layout.get("origin", "")


def fitted_to_batch(values: dict[str, Any], batch_size: int) -> dict[str, Any]:
    """Adapt CaSpeR's draw to another batch size: k stays, p = max(2, b // k).

    The rule by which settings found at one batch size are carried to another, where none are published.
    """
    neighbors = values.get("casper.num_neighbors")
    if neighbors is None or values.get("batch_size") == batch_size:
        return values
    owners = [key for key in values if key.endswith(".num_classes")]
    return {**values, **dict.fromkeys(owners, max(2, batch_size // neighbors))}
