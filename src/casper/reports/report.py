"""The content of a report: runs in tables of the paper's layout, next to the paper's values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import mean
from textwrap import shorten
from typing import Any

from casper.config import METHODS, ConfigError
from casper.formatting import counted
from casper.paper.tables import PAPER_TABLES, PaperCell, paper_table
from casper.reports.measures import MEASURES, Measure
from casper.reports.notes import mixed_analyses, mixed_versions, notes_of_all, other_differences, protocol_notes
from casper.reports.runs import FinishedRun
from casper.reports.statistics import Gain, Spread, paired_gain
from casper.reports.variants import Variant, base_of, variants_of, written


@dataclass(frozen=True)
class PublishedValue:
    """A value printed in the paper, and its standard deviation if that is printed."""

    value: float
    std: float | None = None


def published_value(variant: Variant, path: str, first: str | None = None) -> PublishedValue | None:
    """Find the paper's value for a variant; returns None if there is none.

    The paper prints some cells in two tables, and one of them with two values.

    Args:
        variant: The variant; one with changed settings has no counterpart in the paper.
        path: The value's dotted path in `metrics.json`.
        first: The table that is searched first.
    """
    if variant.changes:
        return None
    for table in map(paper_table, sorted(PAPER_TABLES, key=lambda name: name != first)):
        for name in [name for name, place in table.measures.items() if place == path]:
            for cell in table.cells:
                if name in cell.values and _is_cell_of(cell, variant):
                    return PublishedValue(cell.values[name], cell.values.get("std") if name == "accuracy" else None)
    return None


def _is_cell_of(cell: PaperCell, variant: Variant) -> bool:
    return (
        (cell.stream, cell.method, cell.buffer_size or 0) == (variant.stream, variant.method, variant.buffer_size)
        and cell.regularizer == (variant.regularizers or "none")
        and variant.protocol is not None
        and written(cell.settings[variant.protocol]) == variant.settings
    )


_LONGEST = 100  # letters of the settings in a title; the list of runs has all settings


@dataclass(frozen=True)
class Cell:
    """One variant, over its seeds.

    Attributes:
        spread: Mean and standard deviation of the measure; None if no seed has the value.
        beside: The mean of the second value.
        gain: Over the plain method, paired by seed; None if it is the plain method, or that is missing.
        paper: The paper's value.
        paper_gain: The paper's value minus its value for the plain method.
        paper_beside: The paper's second value.
        seeds: Its seeds.
        versions: The versions of the code behind its runs, casper's and the user's.
    """

    spread: Spread | None
    beside: float | None
    gain: Gain | None
    paper: PublishedValue | None
    paper_gain: float | None
    paper_beside: float | None
    seeds: tuple[int, ...]
    versions: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A method, alone or with regularizers.

    Attributes:
        method: The method's name.
        regularizers: The names of the regularizers, joined by `+`; empty for none.
        changes: The settings that differ from the standard.
        cells: The cells by buffer size.
    """

    method: str
    regularizers: str
    changes: str
    cells: Mapping[int, Cell]

    @property
    def label(self) -> str:
        """The row's name below its method: the regularizers."""
        return row_label(self.method, self.regularizers, self.changes)

    @property
    def name(self) -> str:
        """The row's full name, independent of its place."""
        return f"{self.method} {self.label}" if self.regularizers else self.label


@dataclass(frozen=True)
class ResultTable:
    """One measure on one stream, under one protocol.

    Attributes:
        title: Its title.
        measure: The value.
        stream: The stream's name.
        protocol: The protocol that the runs follow; empty for none.
        settings: Their settings besides the protocol.
        columns: The buffer sizes; 0 only if no method has a memory.
        rows: The rows in the paper's order.
        notes: Notes for the reader.

    Example:
        >>> from casper.config import resolve_config
        >>> from casper.reports import FinishedRun, make_report
        >>> config = resolve_config({"method": "er"})
        >>> run = FinishedRun(config.name, config.as_dict(), {"class_il": {"final_average_accuracy": 90.0}})
        >>> table = make_report([run]).tables[0]
        >>> table.stream, [row.name for row in table.rows]
        ('split-digits', ['er + casper'])
    """

    title: str
    measure: Measure
    stream: str
    protocol: str
    settings: str
    columns: tuple[int, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """The content of a report.

    Attributes:
        tables: The tables.
        runs: The runs behind them, with the variant of each.
        notes: Notes for the reader on all tables.

    Example:
        >>> from casper.config import resolve_config
        >>> from casper.reports import FinishedRun, make_report
        >>> config = resolve_config({"method": "er"})
        >>> run = FinishedRun(config.name, config.as_dict(), {"class_il": {"final_average_accuracy": 90.0}})
        >>> report = make_report([run])
        >>> len(report.tables), len(report.runs)
        (1, 1)
    """

    tables: tuple[ResultTable, ...]
    runs: tuple[tuple[FinishedRun, Variant], ...]
    notes: tuple[str, ...]


def make_report(
    runs: Sequence[FinishedRun],
    unfinished: Sequence[str] = (),
    paths: Sequence[str] = (),
    table: str | None = None,
) -> Report:
    """Arrange runs in tables.

    Args:
        runs: The finished runs, at least one.
        unfinished: The names of unfinished runs, which the report mentions.
        paths: The measures to include, by their paths. Default: all that the runs have.
        table: The table of the paper to prefer where the paper prints two values.

    Raises:
        ConfigError: If there is no run.

    Example:
        >>> from casper.config import resolve_config
        >>> from casper.reports import FinishedRun, make_report
        >>> config = resolve_config({"method": "er"})
        >>> run = FinishedRun(config.name, config.as_dict(), {"class_il": {"final_average_accuracy": 90.0}})
        >>> [table.measure.title for table in make_report([run]).tables]
        ['Class-IL: final average accuracy (%)']
    """
    if not runs:
        names = f"; {counted(len(unfinished), 'run')} not finished" if unfinished else ""
        raise ConfigError(f"a report needs at least one finished run, but got none{names}")
    known, doubled = one_per_seed(runs)
    groups: dict[tuple[str, str, tuple[str, ...]], list[tuple[FinishedRun, Variant]]] = {}
    for run, variant in known:
        groups.setdefault((variant.stream, variant.protocol or "", variant.settings), []).append((run, variant))
    tables = []
    for measure in MEASURES:
        if paths and measure.path not in paths:
            continue
        for _, members in sorted(groups.items()):
            shown = [pair for pair in members if pair[0].value(measure.path) is not None or pair[0].lacks(measure.path)]
            if not paths and all(run.lacks(measure.path) for run, _ in shown):
                continue
            for neighbors, same in _by_neighbors(measure, shown):
                tables.append(_table(measure, same, table, neighbors))
    included = [run for run, _ in known]
    return Report(tuple(tables), tuple(known), tuple(notes_of_all(included, unfinished, doubled)))


def one_per_seed(runs: Sequence[FinishedRun]) -> tuple[list[tuple[FinishedRun, Variant]], list[str]]:
    """Keep one run per (variant, seed), preferring the one with a recalibrated evaluation.

    Returns:
        The runs with their variants, and the names of those that were left out.
    """
    chosen: dict[tuple[Variant, int], FinishedRun] = {}
    doubled = []
    known = sorted(runs, key=lambda run: not run.layout.get("recalibrate"))
    for run, variant in zip(known, variants_of(known), strict=True):
        place = variant, run.layout["seed"]
        if place in chosen:
            doubled.append(run.name)
        chosen.setdefault(place, run)
    return [(run, variant) for (variant, _), run in chosen.items()], doubled


def _by_neighbors(
    measure: Measure, members: Sequence[tuple[FinishedRun, Variant]]
) -> Iterable[tuple[str, list[tuple[FinishedRun, Variant]]]]:
    """Separate runs whose graphs have different numbers of neighbours: their values are not comparable."""
    groups: dict[str, list[tuple[FinishedRun, Variant]]] = {}
    for run, variant in members:
        number = f"{measure.graph}_neighbors={run.neighbors(measure.graph)}" if measure.graph else ""
        groups.setdefault(number, []).append((run, variant))
    return sorted(groups.items(), key=lambda group: (len(group[0]), group[0]))


def _table(
    measure: Measure, members: Sequence[tuple[FinishedRun, Variant]], table: str | None, neighbors: str
) -> ResultTable:
    """Build the table of one group of runs: methods as rows, buffer sizes as columns."""
    values: dict[Variant, dict[int, FinishedRun]] = {}
    for run, variant in members:
        values.setdefault(variant, {})[run.layout["seed"]] = run
    first = members[0][1]
    sizes = sorted({variant.buffer_size for variant in values if variant.buffer_size} or {0})
    lines: dict[tuple[str, str, str], dict[int, Cell]] = {}
    for variant in values:
        cell = _cell(measure, variant, values, table)
        # A method without a memory is the same for all buffer sizes.
        for size in sizes if variant.buffer_size == 0 else [variant.buffer_size]:
            lines.setdefault((variant.method, variant.regularizers, variant.changes), {})[size] = cell
    rows = [Row(*names, cells) for names, cells in sorted(lines.items(), key=lambda line: row_order(*line[0]))]
    protocol = f", {first.protocol} protocol" if first.protocol else ""
    settings = ", ".join(filter(None, [neighbors, *first.settings]))
    further = f", {shorten(settings, _LONGEST, placeholder=' ...')}" if settings else ""
    cells = [cell for row in rows for cell in row.cells.values()]
    printed = any(cell.paper is not None for cell in cells)
    notes = [*protocol_notes(first, printed), *other_differences(values), *mixed_versions(values)]
    if measure.graph:
        notes += mixed_analyses(values)
    if measure.no_verdict and any(cell.gain for cell in cells):
        notes.append(measure.no_verdict)
    return ResultTable(
        f"{measure.title} on {first.stream}{protocol}{further}",
        measure,
        first.stream,
        first.protocol or "",
        settings,
        tuple(sizes),
        tuple(rows),
        tuple(notes),
    )


def _cell(
    measure: Measure, variant: Variant, values: Mapping[Variant, Mapping[int, FinishedRun]], table: str | None
) -> Cell:
    by_seed = _values(values[variant], measure.path)
    paper, base = published_value(variant, measure.path, table), base_of(variant, values)
    gain = paper_gain = beside = paper_beside = None
    if base is not None:
        gain = paired_gain(by_seed, _values(values[base], measure.path))
        plain = published_value(base, measure.path, table)
        paper_gain = None if paper is None or plain is None else paper.value - plain.value
    if measure.beside is not None:
        second = _values(values[variant], measure.beside[0])
        beside = mean(second.values()) if second else None
        printed = published_value(variant, measure.beside[0], table)
        paper_beside = None if printed is None else printed.value
    return Cell(
        spread=Spread.of(list(by_seed.values())) if by_seed else None,
        beside=beside,
        gain=gain,
        paper=paper,
        paper_gain=paper_gain,
        paper_beside=paper_beside,
        seeds=tuple(sorted(by_seed)),
        versions=tuple(sorted({run.version for run in values[variant].values()})),
    )


def _values(by_seed: Mapping[int, FinishedRun], path: str) -> dict[int, float]:
    found = {seed: run.value(path) for seed, run in by_seed.items()}
    return {seed: value for seed, value in found.items() if value is not None}


@cache
def _method_order() -> dict[str, int]:
    """Number the methods: the bounds, the paper's methods in its order, then all others."""
    of_the_paper = [cell.method for name in PAPER_TABLES for cell in paper_table(name).cells]
    names = dict.fromkeys(["joint", "finetune", *of_the_paper, *METHODS])
    return {name: place for place, name in enumerate(names)}


def row_label(method: str, regularizers: str, changes: str) -> str:
    """Name a row below its method by its regularizers."""
    name = f"+ {regularizers}" if regularizers else method
    return f"{name} ({changes})" if changes else name


def row_order(method: str, regularizers: str, changes: str) -> tuple[Any, ...]:
    """Sort key of the paper's order: the bounds, then the methods, each followed by its regularizers."""
    place = _method_order().get(method, len(_method_order()))
    control = ["", "forward-only", "casper"]
    added = control.index(regularizers) if regularizers in control else len(control)
    return place, method, added, regularizers, changes
