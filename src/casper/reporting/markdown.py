"""A report as Markdown."""

from collections.abc import Sequence

from casper.config.errors import printable
from casper.reporting.grid import grid_of
from casper.reporting.report import Report


def to_markdown(report: Report, title: str) -> str:
    """Write every table of a report, with its notes."""
    lines = [f"# {_plain(title)}", ""]
    for note in report.notes:
        lines += [_plain(note), ""]
    for table in report.tables:
        grid = grid_of(table)
        lines += [f"## {_plain(table.title)}", ""]
        for note in table.notes:
            lines += [_plain(note), ""]
        lines.append(markdown_row(grid.headers))
        lines.append(markdown_row(["---"] + ["---:"] * (len(grid.headers) - 1)))
        lines += [markdown_row([cell.text for cell in row]) for row in grid.rows]
        lines.append("")
    return "\n".join(lines)


def markdown_row(cells: Sequence[str]) -> str:
    """Write a line of a table."""
    return "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _plain(text: str) -> str:
    """Have text from files be text: nothing in it is taken for Markdown or HTML."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("\\", "\\\\")
    for sign in "|*_`[]~$":
        escaped = escaped.replace(sign, f"\\{sign}")
    return printable(" ".join(escaped.replace("\u2003", "&emsp;").split()))
