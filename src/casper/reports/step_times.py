"""Measured step times as a table and as bars."""

from collections.abc import Sequence

from casper.paper import Ratio, StepTimes, ratio
from casper.paper.tables import PUBLISHED_RATIOS
from casper.plots import TimedVariant
from casper.plots.labels import VariantName, name_of
from casper.reports.markdown import markdown_table

STEP_TIME_HEADERS = ("", "ms per step", "forward passes", "with gradient", "ratio", "least", "largest", "paper")


def step_time_rows(measured: Sequence[StepTimes]) -> list[tuple[str, ...]]:
    """Format a row for each run: its time, its forward passes, and its ratio to the method alone."""
    rows = []
    for each in measured:
        times = [1e3 * seconds / each.steps for seconds in each.seconds]
        found = _to_the_method_alone(each, measured)
        published = PUBLISHED_RATIOS.get(each.config.options.method) if found else None
        passes = [f"{number:g}" for number in (each.passes, each.passes_with_gradient)]
        ratios = ["" if value is None else f"{value:.2f}" for value in (*(found or [None] * 3), published)]
        rows.append((_name(each).text, f"{sum(times) / len(times):.1f}", *passes, *ratios))
    return rows


def step_time_markdown(measured: Sequence[StepTimes], title: str, notes: Sequence[str]) -> str:
    """Format the table as Markdown."""
    lines = [f"# {title}", "", *(line for note in notes for line in (note, ""))]
    return "\n".join([*lines, *markdown_table(STEP_TIME_HEADERS, step_time_rows(measured)), ""])


def timed_variants(measured: Sequence[StepTimes]) -> list[TimedVariant]:
    """Convert the times for `draw_times`, with the ratios of the table."""
    variants = []
    for each in measured:
        name, found = _name(each), _to_the_method_alone(each, measured)
        addition = name.addition.removeprefix("+ ")
        variants.append(TimedVariant(name.base, addition, each.seconds, each.passes, found.median if found else None))
    return variants


def _to_the_method_alone(each: StepTimes, measured: Sequence[StepTimes]) -> Ratio | None:
    """Compare a run's times with the method alone; None for the method alone, or if that was not measured."""
    plain = {other.config.options.method: other for other in measured if not other.config.options.regularizer}
    alone = plain.get(each.config.options.method)
    return ratio(each, alone) if each.config.options.regularizer and alone else None


def _name(each: StepTimes) -> VariantName:
    return name_of(each.config.options.method, each.config.options.regularizer)
