"""One figure out of `metrics.json`."""

import math
from collections.abc import Mapping
from typing import Any


def look_up(metrics: Mapping[str, Any], path: str) -> float | None:
    """Find a figure by its dotted path, such as `class_il.final_average_accuracy`; None: there is none."""
    found: Any = metrics
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return found if is_number and math.isfinite(found) else None


def final_accuracy(metrics: Mapping[str, Any]) -> float | None:
    """Find the final average accuracy of the stream's own scenario: Class-IL, or else Domain-IL."""
    found = look_up(metrics, "class_il.final_average_accuracy")
    return look_up(metrics, "domain_il.final_average_accuracy") if found is None else found
