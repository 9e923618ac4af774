"""A report as LaTeX tables."""

import re
from collections.abc import Sequence

from casper.formatting import printable
from casper.reports.grid import grid_of
from casper.reports.measures import Measure
from casper.reports.notes import legend
from casper.reports.report import Report

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
    """Write every table of a report with a printed legend below it; notes on all runs are comments at the top."""
    lines = [f"% {printable(' '.join(title.split()))}"]
    lines += [f"% {' '.join(note.split())}" for note in report.notes[1:]]  # the first is the legend of all tables
    lines.append(r"% \usepackage{booktabs,amssymb}")
    for table in report.tables:
        grid = grid_of(table)
        caption = " ".join([f"{table.title}.", *table.notes])
        lines += ["", r"\begin{table}", rf"\caption{{{_escaped(caption)}}}", r"\centering"]
        lines += [
            rf"\begin{{tabular}}{{l{'r' * (len(grid.headers) - 1)}}}",
            r"\toprule",
            _row(grid.headers),
            r"\midrule",
        ]
        lines += [_row([cell.text for cell in row]) for row in grid.rows]
        lines += [r"\bottomrule", r"\end{tabular}", *_note(table.measure, grid.headers), r"\end{table}"]
    return "\n".join(lines) + "\n"


def _note(measure: Measure, headers: Sequence[str]) -> list[str]:
    """Explain what the table has, as a paragraph below it."""
    text = legend(
        measure.gain if measure.gain in headers else "",
        verdicts=not measure.no_verdict,
        forgetting="F*" in headers,
        recalibrated=measure.path.startswith("recalibrated."),
    )
    return [r"\par\smallskip", rf"\parbox{{\linewidth}}{{\footnotesize {_escaped(text)}}}"]


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(_escaped, cells)) + r" \\"


def _escaped(text: str) -> str:
    line = re.sub(r"[ \t\r\n]+", " ", text)  # a caption must not contain a blank line
    return "".join(_SIGNS.get(sign, printable(sign)) for sign in line)
