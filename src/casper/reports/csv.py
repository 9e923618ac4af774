"""A report as comma-separated values: one line per cell, at full precision."""

import csv
import io

from casper.reports.report import Report

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
    """Format every cell of every table; a field that does not apply is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADERS)
    for table in report.tables:
        for row in table.rows:
            for size, cell in row.cells.items():
                gain = cell.gain
                verdict = gain.verdict if gain and not table.measure.no_verdict else None
                judged = (gain.mean, gain.low, gain.high, verdict, gain.count) if gain else (None,) * 5
                what = (table.measure.path, table.stream, table.protocol, table.settings)
                who = (row.method, row.regularizers or "none", row.changes, size)
                spread = (cell.spread.mean, cell.spread.std) if cell.spread else (None, None)
                found = (*spread, " ".join(map(str, cell.seeds)))
                beside = (table.measure.beside[0] if table.measure.beside else None, cell.beside)
                printed = (cell.paper.value, cell.paper.std) if cell.paper else (None, None)
                paper = (*printed, cell.paper_gain, cell.paper_beside)
                versions = "; ".join(cell.versions)
                writer.writerow(map(_safe, (*what, *who, *found, *beside, *judged, *paper, versions)))
    return text.getvalue()


def _safe(value: object) -> object:
    """Put text on one line, and quote it if a spreadsheet would read it as a formula."""
    if not isinstance(value, str):
        return value
    line = " ".join(value.split())
    return f"'{line}" if line[:1] in tuple("=+-@") else line
