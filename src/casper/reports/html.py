"""A report as one self-contained HTML page: it needs no network and no other file."""

import html
import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from importlib import resources
from io import BytesIO

from casper.config import flattened
from casper.formatting import duration, printable
from casper.metrics import averages_so_far
from casper.plots import accuracy_over_tasks
from casper.reports.grid import GridCell, grid_of
from casper.reports.report import Report, ResultTable, row_label, row_order
from casper.reports.runs import FinishedRun
from casper.reports.variants import Variant

# The page loads nothing, even if a name in a run contains markup.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_HALF = 55  # cells from this accuracy on are dark with light text


def to_html(report: Report, title: str) -> str:
    """Format the page: sortable tables, curves, and every run with its accuracy matrix and settings."""
    sections = [(f"t{number}", table.title, _table(table)) for number, table in enumerate(report.tables)]
    sections.append(("figures", "Accuracy over tasks", _figures(report)))
    sections.append(("runs", "Runs", _runs(report.runs)))
    links = "".join(f'<li><a href="#{name}">{escape(heading)}</a></li>' for name, heading, _ in sections)
    body = "".join(
        f'<section id="{name}"><h2>{escape(heading)}</h2>{content}</section>' for name, heading, content in sections
    )
    return (
        "<!DOCTYPE html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_asset('html.css')}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>{_notes(report.notes)}<nav><ul>{links}</ul></nav>\n{body}\n"
        f"<script>{_asset('html.js')}</script></body></html>\n"
    )


def escape(text: str) -> str:
    """Escape text for HTML, without control characters."""
    return html.escape(printable(text))


def _asset(name: str) -> str:
    return resources.files("casper.reports").joinpath(name).read_text("utf-8")


def _notes(notes: Iterable[str]) -> str:
    return "".join(f'<p class="note">{escape(note)}</p>' for note in notes)


def _table(table: ResultTable) -> str:
    """Format a sortable table; every row has its full name, since sorting may separate it from its method."""
    grid = grid_of(table)
    rows = []
    for row, (_, *cells) in zip(table.rows, grid.rows, strict=True):
        kind = "" if row.regularizers else ' class="plain"'
        signed = [_cell(cell, coloured=table.measure.gain == "gain") for cell in cells]
        rows.append(f"<tr{kind}><td>{escape(row.name)}</td>{''.join(signed)}</tr>")
    heads = "".join(f'<th scope="col"><button type="button">{escape(head)}</button></th>' for head in grid.headers)
    content = f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'{_notes(table.notes)}<div class="scroll"><table class="sortable">{content}</table></div>'


def _cell(cell: GridCell, *, coloured: bool) -> str:
    key = "" if cell.key is None else f' data-key="{cell.key!r}"'
    text = escape(cell.text)
    if coloured and cell.verdict in ("higher", "lower"):
        text = f'<span class="{cell.verdict}">{text}</span>'
    return f"<td{key}>{text}</td>"


def _figures(report: Report) -> str:
    """Draw, for every method and buffer size, the average accuracy on the tasks seen so far."""
    groups: dict[Sequence[str], dict[tuple[str, str, str], list[list[float]]]] = {}
    for run, variant in report.runs:
        curve = averages_so_far(run.main_block[1].get("accuracy_matrix", []))
        if curve:
            protocol = f"{variant.protocol} protocol" if variant.protocol else ""
            memory = f"buffer {variant.buffer_size}" if variant.buffer_size else ""
            place: Sequence[str] = (variant.stream, protocol, ", ".join(variant.settings), variant.method, memory)
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


def _runs(runs: Sequence[tuple[FinishedRun, Variant]]) -> str:
    """List every run: a line that expands to its accuracy matrix and settings."""
    parts = []
    for run, variant in sorted(runs, key=lambda pair: (pair[1].stream, pair[1].method, pair[0].name)):
        name, block = run.main_block
        final = run.value(f"{name}.final_average_accuracy")
        accuracy = "no accuracy" if final is None else f"{final:.2f} %"
        seconds = run.value("seconds.total")
        took = "" if seconds is None else f", {duration(seconds)}"
        what = " + ".join(filter(None, [variant.method, variant.regularizers]))
        line = f"{what} on {variant.stream}, buffer {variant.buffer_size}, seed {run.layout['seed']}: {accuracy}{took}"
        heat = _heat(block.get("accuracy_matrix", []), run.metrics.get("tasks", []))
        parts.append(
            f"<details><summary>{escape(line)}</summary><div>{heat}{_settings(run)}</div></details>",
        )
    return "".join(parts)


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
    return f'<table class="heat"><thead><tr><th>after</th>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _heat_cell(value: float | None, *, ahead: bool) -> str:
    if value is None:
        return "<td></td>"
    kinds = " ".join(["dark"] * (value >= _HALF) + ["ahead"] * ahead)
    return f'<td style="--v:{value:.0f}"{f" class={json.dumps(kinds)}" if kinds else ""}>{value:.0f}</td>'


def _settings(run: FinishedRun) -> str:
    """Format every resolved setting, and where it came from."""
    origins = run.layout.get("origin")
    known = origins if isinstance(origins, dict) else {}
    rows = [("run", run.name, ""), ("code", run.version, "")]
    rows += [(key, json.dumps(value), str(known.get(key, ""))) for key, value in flattened(run.layout).items()]
    cells = ("".join(f"<td>{escape(text)}</td>" for text in row) for row in rows)
    return f'<table class="settings"><tbody>{"".join(f"<tr>{row}</tr>" for row in cells)}</tbody></table>'
