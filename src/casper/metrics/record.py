"""The accuracies measured during a run."""

from collections.abc import Mapping, Sequence
from typing import Any

from casper._repr import ShowsSettings
from casper.metrics.accuracy import empty_matrix
from casper.metrics.summaries import summarize

# {scenario: accuracy} for class_il, task_il or domain_il; None if the method has no scores for these classes
Accuracies = dict[str, float | None]


class Record(ShowsSettings):
    """One accuracy matrix per scenario, and the accuracies of the untrained network.

    Example:
        >>> from casper.metrics import Record
        >>> record = Record(["class_il"], num_tasks=2)
        >>> record.put(1, 0, {"class_il": 60.0})
        >>> record.put(1, 1, {"class_il": 90.0})
        >>> record.average(1)
        {'class_il': 75.0}
    """

    def __init__(self, scenarios: Sequence[str], num_tasks: int) -> None:
        self.matrices = {scenario: empty_matrix(num_tasks) for scenario in scenarios}
        self.untrained: dict[str, list[float | None]] = {scenario: [None] * num_tasks for scenario in scenarios}

    def put(self, row: int, task: int, accuracies: Mapping[str, float | None]) -> None:
        """Store the accuracies on the test set of a task, measured after task `row`."""
        for scenario, value in accuracies.items():
            self.matrices[scenario][row][task] = value

    def put_untrained(self, task: int, accuracies: Mapping[str, float | None]) -> None:
        """Store the accuracies of the untrained network on the test set of a task."""
        for scenario, value in accuracies.items():
            self.untrained[scenario][task] = value

    def row(self, row: int) -> dict[int, Accuracies]:
        """Return the accuracies on the tasks seen so far, by task."""
        return {
            task: {scenario: matrix[row][task] for scenario, matrix in self.matrices.items()} for task in range(row + 1)
        }

    def average(self, row: int) -> dict[str, float]:
        """Average each scenario over the tasks seen so far."""
        means = {}
        for scenario, matrix in self.matrices.items():
            measured = [value for value in matrix[row][: row + 1] if value is not None]
            means[scenario] = sum(measured) / len(measured)
        return means

    def summaries(self) -> dict[str, dict[str, object] | None]:
        """Compute the metrics of every scenario in the layout of `metrics.json`; None if not measured."""
        return {
            scenario: summarize(self.matrices[scenario], self.untrained[scenario])
            if scenario in self.matrices
            else None
            for scenario in ("class_il", "task_il", "domain_il")
        }

    def state_dict(self) -> dict[str, Any]:
        """Return everything stored so far."""
        return {
            "matrices": {scenario: [list(row) for row in matrix] for scenario, matrix in self.matrices.items()},
            "untrained": {scenario: list(values) for scenario, values in self.untrained.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        self.matrices = {scenario: [list(row) for row in matrix] for scenario, matrix in state["matrices"].items()}
        self.untrained = {scenario: list(values) for scenario, values in state["untrained"].items()}
