"""A report as Markdown."""

from collections.abc import Iterable, Sequence

from casper.formatting import printable
from casper.reports.grid import grid_of
from casper.reports.report import Report


def to_markdown(report: Report, title: str) -> str:
    """Format every table of a report, with its notes."""
    lines = [f"# {_escaped(title)}", ""]
    for note in report.notes:
        lines += [_escaped(note), ""]
    for table in report.tables:
        grid = grid_of(table)
        lines += [f"## {_escaped(table.title)}", ""]
        for note in table.notes:
            lines += [_escaped(note), ""]
        lines += [*markdown_table(grid.headers, [[cell.text for cell in row] for row in grid.rows]), ""]
    return "\n".join(lines)


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Write the lines of a table; all columns but the first are aligned right."""
    alignment = ["---"] + ["---:"] * (len(headers) - 1)
    return ["| " + " | ".join(map(_escaped, cells)) + " |" for cells in (headers, alignment, *rows)]


def _escaped(text: str) -> str:
    """Escape text from files, so that nothing in it is read as Markdown or HTML."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("\\", "\\\\")
    for sign in "|*_`[]~$":
        escaped = escaped.replace(sign, f"\\{sign}")
    return printable(" ".join(escaped.replace("\u2003", "&emsp;").split()))
