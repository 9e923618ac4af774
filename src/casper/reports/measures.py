"""The measures in the tables of a report."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A value of every run, reported in a table.

    Attributes:
        title: The title of the table.
        path: The dotted path in `metrics.json`.
        beside: The path of a second value, reported next to it, and its title.
        decimals: The number of decimals.
        gain: The name of the difference to the plain method: "gain", or "difference" if higher is not better.
        no_verdict: Why differences have no verdict; empty if they have one.
        graph: The kind of graph, `sigma` or `map`, on whose number of neighbours the value depends; empty for none.
    """

    title: str
    path: str
    beside: tuple[str, str] | None = None
    decimals: int = 2
    gain: str = "gain"
    no_verdict: str = ""
    graph: str = ""


def _accuracies() -> Iterable[Measure]:
    for block, kind in (("", ""), ("recalibrated.", ", recalibrated")):
        for scenario, title in (("class_il", "Class-IL"), ("task_il", "Task-IL"), ("domain_il", "Domain-IL")):
            path = f"{block}{scenario}."
            forgetting = (f"{path}adjusted_forgetting", "F*")
            yield Measure(f"{title}{kind}: final average accuracy (%)", f"{path}final_average_accuracy", forgetting)


def _probes() -> Iterable[Measure]:
    for vote, key in (("plain vote", "_majority"), ("weighted vote", "")):
        for k in (5, 11):
            yield Measure(f"{k}-NN probe, {vote}: accuracy (%)", f"latent.knn_{k}{key}")
    yield Measure("Nearest class mean of the memory: accuracy (%)", "latent.nearest_mean")


def _of_the_latent_space() -> Iterable[Measure]:
    for title, name, decimals, graph in (
        ("Label-signal variation of the memory after the last task", "label_signal_variation", 0, "sigma"),
        ("The same as a share of all edges", "label_signal_variation_share", 3, "sigma"),
        ("Eigengap of the memory's graph after the last task", "spectrum.eigengap", 4, "sigma"),
        ("Functional map: off-diagonal energy", "functional_map.off_diagonal_energy", 2, "map"),
    ):
        yield Measure(title, f"analysis.{name}", decimals=decimals, gain="difference", graph=graph)


MEASURES = (
    *_accuracies(),
    *_probes(),
    Measure(
        "Variance over the coordinates of a feature vector",
        "latent.coordinate_variance",
        decimals=4,
        gain="difference",
    ),
    Measure("Variance of features within a class", "latent.same_class_variance", decimals=4, gain="difference"),
    Measure(
        "Variance of features within a class, as a share of all variance",
        "latent.same_class_variance_ratio",
        decimals=4,
        gain="difference",
    ),
    *_of_the_latent_space(),
    Measure(
        "Wall-clock time of training (s)",
        "seconds.train",
        decimals=1,
        gain="difference",
        no_verdict="Times depend on the load of the machine as well, so their differences have no verdict.",
    ),
)
