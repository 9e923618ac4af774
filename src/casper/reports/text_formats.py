"""A report as Markdown, LaTeX and comma-separated values."""

import csv
import io
import re
from collections.abc import Iterable, Sequence

from casper.config.errors import printable
from casper.reports.grid import grid_of
from casper.reports.report import Report


def to_markdown(report: Report, title: str) -> str:
    """Write every table of a report, with its notes."""
    lines = [f"# {_plain_markdown(title)}", ""]
    for note in report.notes:
        lines += [_plain_markdown(note), ""]
    for table in report.tables:
        grid = grid_of(table)
        lines += [f"## {_plain_markdown(table.title)}", ""]
        for note in table.notes:
            lines += [_plain_markdown(note), ""]
        lines += [*markdown_table(grid.headers, [[cell.text for cell in row] for row in grid.rows]), ""]
    return "\n".join(lines)


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Write the lines of a table; all columns but the first are aligned right."""
    alignment = ["---"] + ["---:"] * (len(headers) - 1)
    return ["| " + " | ".join(map(_plain_markdown, cells)) + " |" for cells in (headers, alignment, *rows)]


def _plain_markdown(text: str) -> str:
    """Have text from files be text: nothing in it is taken for Markdown or HTML."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("\\", "\\\\")
    for sign in "|*_`[]~$":
        escaped = escaped.replace(sign, f"\\{sign}")
    return printable(" ".join(escaped.replace("\u2003", "&emsp;").split()))


_SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    ">": r"\textgreater{}",
    "[": "{[}",
    "]": "{]}",
    "±": r"$\pm$",
    "▲": r"$\blacktriangle$",
    "▼": r"$\blacktriangledown$",
    "○": r"$\circ$",
    "\u2003": r"\quad ",
}


def to_latex(report: Report, title: str) -> str:
    """Write every table of a report; the notes are comments at the top and captions."""
    lines = [f"% {' '.join(title.split())}"]
    lines += [f"% {' '.join(note.split())}" for note in report.notes]
    lines.append(r"% \usepackage{booktabs,amssymb}")
    for table in report.tables:
        grid = grid_of(table)
        caption = " ".join([f"{table.title}.", *table.notes])
        lines += ["", r"\begin{table}", rf"\caption{{{_plain_latex(caption)}}}", r"\centering"]
        lines += [
            rf"\begin{{tabular}}{{l{'r' * (len(grid.headers) - 1)}}}",
            r"\toprule",
            _row(grid.headers),
            r"\midrule",
        ]
        lines += [_row([cell.text for cell in row]) for row in grid.rows]
        lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(_plain_latex, cells)) + r" \\"


def _plain_latex(text: str) -> str:
    line = re.sub(r"[ \t\r\n]+", " ", text)  # a blank line would begin a paragraph, where none may be
    return "".join(_SIGNS.get(sign, printable(sign)) for sign in line)


_HEADERS = (
    "measure",
    "stream",
    "protocol",
    "settings",
    "method",
    "regularizer",
    "changes",
    "buffer_size",
    "mean",
    "std",
    "seeds",
    "beside",
    "beside_mean",
    "gain",
    "gain_low",
    "gain_high",
    "gain_verdict",
    "gain_pairs",
    "paper",
    "paper_std",
    "paper_gain",
    "paper_beside",
    "versions",
)


def to_csv(report: Report) -> str:
    """Write every cell of every table; a field that does not apply is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADERS)
    for table in report.tables:
        for row in table.rows:
            for size, cell in row.cells.items():
                gain = cell.gain
                judged = (gain.mean, gain.low, gain.high, gain.verdict, gain.count) if gain else (None,) * 5
                what = (table.measure.path, table.stream, table.protocol, table.settings)
                who = (row.method, row.regularizers or "none", row.changes, size)
                found = (cell.spread.mean, cell.spread.std, " ".join(map(str, cell.seeds)))
                beside = (table.measure.beside[0] if table.measure.beside else None, cell.beside)
                printed = (cell.paper.value, cell.paper.std) if cell.paper else (None, None)
                paper = (*printed, cell.paper_gain, cell.paper_beside)
                versions = ", ".join(cell.versions)
                writer.writerow(map(_safe, (*what, *who, *found, *beside, *judged, *paper, versions)))
    return text.getvalue()


def _safe(value: object) -> object:
    """Keep text in one line, and a spreadsheet from taking it for a formula."""
    if not isinstance(value, str):
        return value
    line = " ".join(value.split())
    return f"'{line}" if line[:1] in tuple("=+-@") else line
