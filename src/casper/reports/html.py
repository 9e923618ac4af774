"""A report as one self-contained HTML page: it needs no network and no other file."""

import html
import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from io import BytesIO
from itertools import count, groupby

from casper.config import flattened
from casper.formatting import counted, duration, printable
from casper.metrics import averages_so_far
from casper.plots import accuracy_over_tasks
from casper.reports.grid import GridCell, grid_of
from casper.reports.report import Report, ResultTable, Row, row_label, row_order
from casper.reports.runs import FinishedRun
from casper.reports.statistics import Verdict
from casper.reports.variants import Variant

# The page loads nothing, even if a name in a run contains markup.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_DARK = 78  # from this accuracy on, light text has the better contrast to its cell
# The class and the tooltip of each verdict.
_VERDICTS: dict[Verdict, tuple[str, str]] = {
    "higher": ("higher", "the interval is above zero"),
    "lower": ("lower", "the interval is below zero"),
    "not distinguishable": ("undecided", "the interval contains zero"),
    "unknown": ("undecided", "there is no interval"),
}
_COLOURS = (
    '<p class="note">Colours: <span class="higher">▲ gain</span>, <span class="lower">▼ loss</span>, '
    '<span class="differs">▲ ▼ difference that is neither</span>, <span class="undecided">○ ? undecided</span>.</p>'
)
_FOLDING = (
    '<p class="scripted" hidden><button type="button" id="unfold">Open all sections</button> '
    '<button type="button" id="fold">Close all sections</button></p>'
)
_COMPARISON = (
    '<div id="selection" class="scripted" role="status" hidden><span></span> '
    '<button type="button" id="compare">Compare</button> <button type="button" id="clear">Clear</button></div>\n'
    '<dialog id="comparison" aria-labelledby="compared"><button type="button" id="close">Close</button>'
    '<h2 id="compared">Two runs compared</h2><div></div></dialog>\n'
)
_READING = (
    '<p class="note">A matrix has the accuracy (%) on the test set of each task (columns) after each task (rows); '
    'numbers without colour are tasks that are not learned yet. <span class="scripted" hidden>Tick two runs to compare '
    "them.</span></p>"
)


@dataclass(frozen=True)
class _Section:
    """A part of the page that can be folded."""

    name: str
    heading: str
    content: str
    is_open: bool


def to_html(report: Report, title: str) -> str:
    """Format the page: sections of sortable tables, curves, and every run; two runs can be compared."""
    sections = list(_measures(report.tables))
    sections.append(_Section("figures", "Accuracy over tasks", _figures(report), is_open=True))
    sections.append(_Section("runs", "Runs", _runs(report.runs), is_open=True))
    links = "".join(f'<li><a href="#{part.name}">{escape(part.heading)}</a></li>' for part in sections)
    body = "".join(
        f'<details class="section" id="{part.name}"{" open" if part.is_open else ""}>'
        f"<summary><h2>{escape(part.heading)}</h2></summary>{part.content}</details>\n"
        for part in sections
    )
    return (
        "<!DOCTYPE html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<style>{_asset('html.css')}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>{_notes(report.notes)}{_COLOURS}<nav><ul>{links}</ul>{_FOLDING}</nav>\n"
        f"{body}{_COMPARISON}<script>{_asset('html.js')}</script></body></html>\n"
    )


def escape(text: str) -> str:
    """Escape text for HTML, without control characters."""
    return html.escape(printable(text))


def _asset(name: str) -> str:
    return resources.files("casper.reports").joinpath(name).read_text("utf-8")


def _notes(notes: Iterable[str]) -> str:
    return "".join(f'<p class="note">{escape(note)}</p>' for note in notes)


def _measures(tables: Sequence[ResultTable]) -> Iterable[_Section]:
    """Make one section per measure; those of accuracies are open."""
    numbers = count()
    for place, (measure, same) in enumerate(groupby(tables, key=lambda table: table.measure)):
        content = "".join(
            f'<section id="t{next(numbers)}"><h3>{escape(table.title.removeprefix(f"{measure.title} on "))}</h3>'
            f"{_table(table)}</section>"
            for table in same
        )
        is_open = place == 0 or measure.path.endswith("final_average_accuracy")
        yield _Section(f"m{place}", measure.title, content, is_open)


def _table(table: ResultTable) -> str:
    """Format a sortable table; every row has its full name, since sorting may separate it from its method."""
    grid = grid_of(table)
    rows = []
    for row, (_, *cells) in zip(table.rows, grid.rows, strict=True):
        kind = "" if row.regularizers else ' class="plain"'
        signed = [
            _cell(cell, header, better=table.measure.gain == "gain")
            for cell, header in zip(cells, grid.headers[1:], strict=True)
        ]
        rows.append(f"<tr{kind}><td>{escape(row.name)}</td>{''.join(signed)}</tr>")
    heads = "".join(f'<th scope="col"><button type="button">{escape(head)}</button></th>' for head in grid.headers)
    content = f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'{_notes(table.notes)}<div class="scroll"><table class="sortable">{content}</table></div>'


def _cell(cell: GridCell, header: str, *, better: bool) -> str:
    """Format a cell; its header is next to it where the page is narrow. A verdict has a sign and a colour.

    Args:
        cell: The cell.
        header: The header of its column.
        better: Whether a higher value is a better one.
    """
    key = "" if cell.key is None else f' data-key="{cell.key!r}"'
    text = escape(cell.text)
    if cell.verdict is not None:
        words = _VERDICTS[cell.verdict]
        kind = "differs" if cell.verdict in ("higher", "lower") and not better else words[0]
        text = f'<span class="{kind}" title="{words[1]}">{text}</span>'
    return f'<td data-head="{escape(header)}"{key}>{text}</td>'


def _figures(report: Report) -> str:
    """Draw, for every method and buffer size, the average accuracy on the tasks seen so far."""
    groups: dict[Sequence[str], dict[tuple[str, str, str], list[list[float]]]] = {}
    for run, variant in report.runs:
        curve = averages_so_far(run.main_block[1].get("accuracy_matrix", []))
        if curve:
            place: Sequence[str] = (*_setting(variant), variant.method, _memory(variant))
            row = (variant.method, variant.regularizers, variant.changes)
            same = groups.setdefault(place, {}).setdefault(row, [])
            if not same or len(same[0]) == len(curve):  # a file edited by hand may have any length
                same.append(curve)
    figures = []
    for names, rows in sorted(groups.items()):
        title = ", ".join(filter(None, names))
        picture = BytesIO()
        curves = {row_label(*row): rows[row] for row in sorted(rows, key=lambda row: row_order(*row))}
        accuracy_over_tasks(curves, title, picture)
        source = f"data:image/svg+xml;base64,{b64encode(picture.getvalue()).decode()}"
        figures.append(f'<figure><img src="{source}" alt="{escape(title)}"></figure>')
    return f'<div class="figures">{"".join(figures)}</div>' if figures else "<p>No run has a curve.</p>"


def _setting(variant: Variant) -> tuple[str, str, str]:
    """Name what the variants of a table share."""
    protocol = f"{variant.protocol} protocol" if variant.protocol else ""
    return variant.stream, protocol, ", ".join(variant.settings)


def _memory(variant: Variant) -> str:
    return f"buffer {variant.buffer_size}" if variant.buffer_size else ""


def _runs(runs: Sequence[tuple[FinishedRun, Variant]]) -> str:
    """List every run: a line that expands to its accuracy matrix and settings."""
    parts = []
    for run, variant in sorted(runs, key=_place_of):
        name, block = run.main_block
        final = run.value(f"{name}.final_average_accuracy")
        accuracy = "no accuracy" if final is None else f"{final:.2f} %"
        seconds = run.value("seconds.total")
        took = "" if seconds is None else f", {duration(seconds)}"
        what = Row(variant.method, variant.regularizers, variant.changes, {}).name
        where = ", ".join(filter(None, [*_setting(variant), _memory(variant), f"seed {run.layout['seed']}"]))
        heat = _heat(block.get("accuracy_matrix", []), run.metrics.get("tasks", []))
        parts.append(
            f'<div class="run"><input type="checkbox" class="scripted" hidden autocomplete="off" '
            f'aria-label="compare {escape(run.name)}">'
            f"<details><summary>{escape(f'{what} on {where}: {accuracy}{took}')}</summary>"
            f"<div>{heat}{_settings(run)}</div></details></div>"
        )
    return _READING + "".join(parts)


def _place_of(pair: tuple[FinishedRun, Variant]) -> tuple[object, ...]:
    """Sort runs as in the tables."""
    run, variant = pair
    rows = row_order(variant.method, variant.regularizers, variant.changes)
    return *_setting(variant), *rows, variant.buffer_size, run.layout["seed"], run.name


def _heat(matrix: Sequence[Sequence[float | None]], tasks: Sequence[Sequence[str]]) -> str:
    """Format an accuracy matrix: a row per task learned, a column per test set; headers have the class names."""
    heads = ""
    for column in range(len(matrix)):
        names = ", ".join(map(str, tasks[column])) if column < len(tasks) else ""
        heads += f'<th scope="col" title="{escape(names)}">{column + 1}</th>'
    rows = []
    for place, row in enumerate(matrix):
        cells = "".join(_heat_cell(value, ahead=column > place) for column, value in enumerate(row))
        rows.append(f'<tr><th scope="row">{place + 1}</th>{cells}</tr>')
    content = f"<thead><tr><th>after</th>{heads}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="matrix" style="--n:{len(matrix)}"><table class="heat">{content}</table></div>'


def _heat_cell(value: float | None, *, ahead: bool) -> str:
    if value is None:
        return "<td></td>"
    kinds = " ".join(["dark"] * (value >= _DARK) + ["ahead"] * ahead)
    return f'<td style="--v:{value:.0f}"{f" class={json.dumps(kinds)}" if kinds else ""}>{value:.0f}</td>'


def _settings(run: FinishedRun) -> str:
    """Format every resolved setting, and where it came from; those without a value are folded."""
    origins = run.layout.get("origin")
    known = origins if isinstance(origins, dict) else {}
    rows = [("run", run.name, ""), ("code", run.version, "")]
    unset: list[tuple[str, str, str]] = []
    for key, value in flattened(run.layout).items():
        (unset if value is None else rows).append((key, json.dumps(value), str(known.get(key, ""))))
    folded = f"<details><summary>{counted(len(unset), 'null setting')}</summary>{_listed(unset)}</details>"
    return f"<div>{_listed(rows)}{folded if unset else ''}</div>"


def _listed(rows: Iterable[Sequence[str]]) -> str:
    cells = ("".join(f"<td>{escape(text)}</td>" for text in row) for row in rows)
    return f'<table class="settings"><tbody>{"".join(f"<tr>{row}</tr>" for row in cells)}</tbody></table>'
