"""The console: every line and table that a command prints goes through here."""

import codecs
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from statistics import mean, stdev
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from casper.formatting import printable, printable_lines, signed


class SafeConsole(Console):
    """A console that prints text as it is, without markup, and control characters in it as question marks."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render segments of text; those that move the cursor of a live display are rich's."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable_lines(segment.text))


_IN_ASCII = {
    **{"±": "+-", "−": "-", "×": "x", "·": "*", "²": "^2", "≈": "~", "≠": "!="},
    **{"▲": "+", "▼": "-", "○": "o", "•": "*", "…": "...", "σ": "sigma", "λ": "lambda"},
    **{"Σ": "sum", "Δ": "Delta", "θ": "theta", "μ": "mu", "φ": "phi", "Φ": "Phi", "π": "pi", "∂": "d", "‖": "|"},
    **{"⁽": "^(", "⁾": ")", "ʳ": "r", "ᵀ": "^T", "⁻": "^-", "⁺": "^+", "ᵢ": "_i", "ⱼ": "_j", "–": "-"},
}


def print_in_any_encoding() -> None:
    """Replace characters that the encoding of the output lacks, instead of raising an error."""

    def replaced(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        return "".join(_IN_ASCII.get(letter, "?") for letter in error.object[error.start : error.end]), error.end

    codecs.register_error("casper", replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="casper")


def say(text: str, *, style: str | None = None) -> None:
    """Print text on standard output without markup; a long line is not wrapped, so that programs can read it."""
    SafeConsole().print(text, style=style, soft_wrap=True)


def show(content: RenderableType) -> None:
    """Print a table or another renderable, fitted to the terminal."""
    SafeConsole().print(content)


def warn(text: str) -> None:
    """Print a warning in one line on standard error."""
    complain(f"warning: {' '.join(text.split())}")


def complain(text: str) -> None:
    """Print an error on standard error; errors of the terminal itself are ignored."""
    with suppress(OSError):
        print("casper: " + "\n".join(map(printable, text.splitlines())), file=sys.stderr, flush=True)


SCENARIO_TITLES = {"class_il": "Class-IL", "task_il": "Task-IL", "domain_il": "Domain-IL"}
_SUMMARIES = {
    "final_average_accuracy": "final average accuracy",
    "forgetting": "forgetting",
    "adjusted_forgetting": "adjusted forgetting",
    "backward_transfer": "backward transfer",
    "forward_transfer": "forward transfer",
}


def _table(title: str) -> Table:
    """Create a table that is narrow enough for a terminal and wide enough for its title."""
    return Table(
        title=f"\n{title}",
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        min_width=len(title),
    )


def number(value: float | None, decimals: int = 2) -> str:
    """Format a percentage; None is a dash."""
    return "-" if value is None else f"{value:.{decimals}f}"


def matrix_table(title: str, matrix: Sequence[Sequence[float | None]]) -> Table:
    """Build the table of an accuracy matrix: one row per task learned, one column per test set.

    With more tasks there are fewer decimals, so that twenty tasks fit into 80 columns.
    """
    decimals = 2 if len(matrix) <= 8 else 1 if len(matrix) <= 10 else 0
    few = decimals == 2
    table = _table(f"{title}: accuracy (%) on each task's test set")
    if not few:
        table.padding = 0 if decimals == 0 else (0, 1, 0, 0)
    table.add_column("after task" if few else "after", justify="right")
    for index in range(len(matrix)):
        table.add_column(f"task {index + 1}" if few else str(index + 1), justify="right")
    for index, row in enumerate(matrix):
        cells = (number(value, decimals) if column <= index else "" for column, value in enumerate(row))
        table.add_row(str(index + 1), *cells)
    return table


def summary_table(metrics: Mapping[str, Any]) -> Table:
    """Build the table of a run's summaries: one column per scenario, recalibrated ones last."""
    table = _table("Summaries (%)")
    table.add_column("")
    columns = []
    for block, suffix in ((metrics, ""), (metrics["recalibrated"] or {}, ", recalibrated")):
        for scenario, title in SCENARIO_TITLES.items():
            if block.get(scenario):
                columns.append(block[scenario])
                table.add_column(title + suffix, justify="right")
    for key, title in _SUMMARIES.items():
        table.add_row(title, *(number(column[key]) for column in columns))
    return table


def latent_line(latent: Mapping[str, float | None]) -> str:
    """Describe the latent space in one line: variance of features within a class, and accuracy of the k-NN probe."""
    variance, ratio = latent["same_class_variance"], latent["same_class_variance_ratio"]
    parts = [f"variance within a class {variance:.3g}"]
    if ratio is not None:
        parts[0] += f", {100 * ratio:.0f} % of all"
    if latent["knn_5_majority"] is not None:
        votes = ", ".join(f"{latent[f'knn_{k}_majority']:.2f} % (k = {k})" for k in (5, 11))
        parts.append(f"k-NN probe, plain vote, {votes}")
    return "features: " + "; ".join(parts)


def spread(values: Sequence[float]) -> str:
    """Format mean and standard deviation over seeds (n - 1 in the denominator)."""
    return f"{mean(values):.2f} ± {stdev(values):.2f}" if len(values) > 1 else f"{mean(values):.2f}"


# By variant, then by evaluation ("as trained", "recalibrated"): one value per seed. The first variant is the baseline.
Comparison = Mapping[str, Mapping[str, Sequence[float]]]


def comparison_table(title: str, accuracies: Comparison) -> Table:
    """Build a table of mean and standard deviation over seeds, of every variant and evaluation."""
    table = _table(title)
    table.add_column("")
    for evaluation in next(iter(accuracies.values())):
        table.add_column(evaluation, justify="right")
    for variant, by_evaluation in accuracies.items():
        table.add_row(variant, *(spread(values) for values in by_evaluation.values()))
    return table


def difference_table(accuracies: Comparison, seeds: Sequence[int]) -> Table:
    """Build a table of the differences of each variant to the first, paired by seed."""
    baseline, *others = accuracies
    table = _table(f"Difference to {baseline}, paired by seed")
    table.add_column("")
    table.add_column("evaluation")
    table.add_column("mean", justify="right")
    for seed in seeds:
        table.add_column(f"seed {seed}" if seed == seeds[0] else str(seed), justify="right")
    for variant in others:
        for evaluation, values in accuracies[variant].items():
            gains = [value - plain for value, plain in zip(values, accuracies[baseline][evaluation], strict=True)]
            table.add_row(variant, evaluation, signed(mean(gains)), *map(signed, gains))
    return table
