"""The figures that tables show."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A figure that a table shows.

    Attributes:
        title: What the table is called after it.
        path: Its dotted path in `metrics.json`.
        beside: The path of a second figure, shown beside it, and its title.
        decimals: How many are shown.
        gain: What a difference to the plain method is called; of what is no merit it is a difference.
    """

    title: str
    path: str
    beside: tuple[str, str] | None = None
    decimals: int = 2
    gain: str = "gain"


def _accuracies() -> Iterable[Measure]:
    for block, kind in (("", ""), ("recalibrated.", ", recalibrated")):
        for scenario, title in (("class_il", "Class-IL"), ("task_il", "Task-IL"), ("domain_il", "Domain-IL")):
            path = f"{block}{scenario}."
            forgetting = (f"{path}adjusted_forgetting", "F*")
            yield Measure(f"{title}{kind}: final average accuracy (%)", f"{path}final_average_accuracy", forgetting)


MEASURES = (
    *_accuracies(),
    Measure("k-NN probe, 5 neighbours: accuracy (%)", "latent.knn_5"),
    Measure("k-NN probe, 11 neighbours: accuracy (%)", "latent.knn_11"),
    Measure("Variance of features within a class", "latent.same_class_variance", decimals=4, gain="difference"),
    Measure("Wall-clock time of training (s)", "seconds.train", decimals=1, gain="difference"),
)
